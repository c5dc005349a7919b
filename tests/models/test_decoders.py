"""Decoders with caches: sizes that belong together, and calls token by token."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_networks import constant, save, value

from asterism.models.signatures.onnx import onnx_signature
from asterism.models.signatures.signature import TensorSpec, growing_axis, matching_states
from asterism.models.tensor_models.feeding import FeedingParams, FurtherInput
from asterism.models.tensor_models.model import FileModel

WIDTH = 3
FEEDING = FeedingParams(
    input=None, outputs=None, constants=[], step=None, context=0, pad=0, preprocessing=None
)


def decoder(path, total="past + new", names=("past_key_values.0.key", "present.0.key")):
    """Each token's answer is the sum of all tokens so far that the mask names, and its place.

    The cache holds the tokens as rows of numbers, as decoders keep their keys.
    """
    past, present = names
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["real", "last"], ["column"]),
        helper.make_node("Expand", ["column", "wide"], ["rows"]),
        helper.make_node("Concat", [past, "rows"], [present], axis=1),
        helper.make_node("Cast", ["attention_mask"], ["kept"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["kept", "last"], ["mask"]),
        helper.make_node("Mul", [present, "mask"], ["seen"]),
        helper.make_node("ReduceSum", ["seen", "middle"], ["sum"], keepdims=1),
        helper.make_node("Cast", ["position_ids"], ["place"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["place", "last"], ["places"]),
        helper.make_node("Add", ["sum", "places"], ["logits"]),
    ]
    integers = TensorProto.INT64
    inputs = [
        value("input_ids", ["batch", "new"], integers),
        value("attention_mask", ["batch", total], integers),
        value("position_ids", ["batch", "new"], integers),
        value(past, ["batch", "past", WIDTH]),
    ]
    outputs = [value("logits", ["batch", "new", WIDTH]), value(present, ["batch", total, WIDTH])]
    constants = [
        constant("last", np.int64([2])),
        constant("middle", np.int64([1])),
        constant("wide", np.int64([1, 1, WIDTH])),
    ]
    return save(path, nodes, inputs, outputs, constants)


@pytest.mark.parametrize("total", ["past + new", "total"])
def test_a_cache_is_a_state_that_grows_and_sizes_belong_together(tmp_path, total):
    signature = onnx_signature(decoder(tmp_path / "d.onnx", total))
    assert signature.states == (("past_key_values.0.key", "present.0.key"),)
    assert signature.caches == {"past_key_values.0.key": 1}
    assert signature.given[0].name == "input_ids"
    assert [spec.name for spec in signature.answers] == ["logits"]


def test_a_decoder_is_called_token_by_token_with_what_it_has_seen(tmp_path):
    tokens = np.array([[5, 6, 7, 1], [2, 0, 4, 0], [9, 9, 9, 9]])
    model = FileModel(decoder(tmp_path / "d.onnx"), FEEDING, False, tokens)
    assert model.shapes == {"logits": (4, WIDTH)}
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
    nodes = [
        helper.make_node("Mul", ["ids", "weights"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "axis"], ["y"], keepdims=1),
    ]
    inputs = [value("ids", ["n", "t"]), value("weights", ["n", "t"])]
    axis = constant("axis", np.int64([1]))
    path = save(tmp_path / "m.onnx", nodes, inputs, [value("y", ["n", 1])], [axis])
    items = np.float32([[1, 2, 3], [4, 5, 6]])
    given = FEEDING.model_copy(update={"constants": [FurtherInput(input="weights", value=2)]})
    assert FileModel(path, given, False, items).predict(items).tolist() == [[12], [30]]
