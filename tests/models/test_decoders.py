"""Decoders with caches: sizes that belong together, and calls token by token."""

import numpy as np
import pytest
from onnx_networks import opened

from asterism.models.signatures.onnx import onnx_signature
from asterism.models.signatures.signature import TensorSpec, growing_axis, matching_states
from onnx_texts import write_onnx

WIDTH = 3


def decoder(path, total="past + new"):
    """Each token's answer is the sum of all tokens so far that the mask names, and its place.

    The cache holds the tokens as rows of numbers, as decoders keep their keys.
    """
    text = f"""(int64[batch,new] input_ids, int64[batch,"{total}"] attention_mask,
    int64[batch,new] position_ids, float[batch,past,{WIDTH}] "past_key_values.0.key")
    => (float[batch,new,{WIDTH}] logits, float[batch,"{total}",{WIDTH}] "present.0.key") {{
        real = Cast <to = 1> (input_ids)
        column = Unsqueeze (real, last)
        rows = Expand (column, wide)
        "present.0.key" = Concat <axis = 1> ("past_key_values.0.key", rows)
        kept = Cast <to = 1> (attention_mask)
        mask = Unsqueeze (kept, last)
        seen = Mul ("present.0.key", mask)
        sum = ReduceSum <keepdims = 1> (seen, middle)
        place = Cast <to = 1> (position_ids)
        places = Unsqueeze (place, last)
        logits = Add (sum, places)
    }}"""
    constants = {"last": [2], "middle": [1], "wide": [1, 1, WIDTH]}
    return write_onnx(path, text, **constants)


@pytest.mark.parametrize("total", ["past + new", "total"])
def test_a_cache_is_a_state_that_grows_and_sizes_belong_together(tmp_path, total):
    signature = onnx_signature(decoder(tmp_path / "d.onnx", total))
    assert signature.states == (("past_key_values.0.key", "present.0.key"),)
    assert signature.caches == {"past_key_values.0.key": 1}
    assert signature.given[0].name == "input_ids"
    assert [spec.name for spec in signature.answers] == ["logits"]


def test_a_decoder_is_called_token_by_token_with_what_it_has_seen(tmp_path):
    tokens = np.array([[5, 6, 7, 1], [2, 0, 4, 0], [9, 9, 9, 9]])
    model = opened(decoder(tmp_path / "d.onnx"), tokens)
    assert model.form.shapes == {"logits": (4, WIDTH)}
    expected = np.cumsum(tokens, axis=1) + np.arange(4)
    rows = model.predict(tokens).reshape(3, 4, WIDTH)
    assert np.array_equal(rows, np.repeat(expected[..., None], WIDTH, axis=2))


def floats(name, shape, dims):
    return TensorSpec(name, "float32", shape, dims=dims)


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ("past_key_values.0.key", "present.0.key"),
        ("past_key_values.11.decoder.value", "present.11.decoder.value"),
        ("past_0", "present_0"),
        ("past_key_0", "present_key_0"),
        ("past_key_values.3.key", "present_key_values.3.key"),
    ],
)
def test_caches_are_known_by_their_names(given, answer):
    ids, logits = TensorSpec("input_ids", "int64", (None, None)), floats("logits", (None, 9), ())
    one, other = floats(given, (None, 2, None, 4), ()), floats(answer, (None, 2, None, 4), ())
    assert matching_states((ids, one), (logits, other)) == ((given, answer),)
    assert growing_axis(one, other, ids) == 2


def test_a_state_of_one_size_does_not_grow():
    main = floats("x", (None, 4), ("batch", ""))
    for name, shape, dims in [
        ("h", (2, None, 8), ("", "batch", "")),
        ("past_window", (None, 16), ("batch", "")),
        ("past_h", (2, None, 8), ("", "batch", "")),
    ]:
        assert growing_axis(floats(name, shape, dims), floats(name, shape, dims), main) is None


def test_a_constant_is_as_long_as_the_tokens_beside_which_it_stands(tmp_path):
    text = """(float[n,t] ids, float[n,t] weights) => (float[n,1] y) {
        kept = Mul (ids, weights)
        y = ReduceSum <keepdims = 1> (kept, axis)
    }"""
    path = write_onnx(tmp_path / "m.onnx", text, axis=[1])
    items = np.float32([[1, 2, 3], [4, 5, 6]])
    model = opened(path, items, constants=[{"input": "weights", "value": 2}])
    assert model.predict(items).tolist() == [[12], [30]]
