"""Model files of any signature as rows of numbers: masks, constants, states, batches."""

import keras
import numpy as np
import pytest
from onnx_networks import (
    feeding,
    linear,
    linear_in_time,
    masked,
    mixing,
    opened,
    quantised,
    streaming,
)

from asterism.core.messages.errors import UserError
from asterism.models.formats import FunctionRuntime, open_runtime
from asterism.models.signatures.onnx import onnx_signature
from asterism.models.signatures.signature import TensorSpec, growing_axis, matching_states
from asterism.models.tensor_models import model as batching
from asterism.models.tensor_models import subjects
from asterism.models.tensor_models.model import OpeningRequest
from asterism.models.tensor_models.subjects import IsolatedFileModel
from onnx_texts import write_onnx

RNG = np.random.default_rng(0)
WEIGHTS = RNG.standard_normal((3, 2)).astype(np.float32)
ROWS = RNG.standard_normal((40, 3)).astype(np.float32)


def alone(model, items):
    return np.concatenate([model.predict(items[i : i + 1]) for i in range(len(items))])


@pytest.mark.parametrize("batch", ["n", 1, 4])
def test_rows_are_the_models_outputs_in_any_batch(tmp_path, batch):
    model = opened(linear(tmp_path / "a.onnx", WEIGHTS, batch), ROWS)
    rows = model.predict(ROWS)
    assert rows == pytest.approx(ROWS @ WEIGHTS, abs=1e-5)
    assert np.array_equal(rows, alone(model, ROWS))
    assert (model.form.shapes, model.classes) == ({"y": (2,)}, 2)
    assert model.predict(ROWS[:0]).shape == (0, 2)


def test_a_model_that_mixes_a_batch_gets_rows_alone(tmp_path):
    model = opened(mixing(tmp_path / "m.onnx"), ROWS)
    assert np.array_equal(model.predict(ROWS), np.zeros_like(ROWS))


def test_a_model_that_rounds_by_the_range_of_a_fixed_batch_gets_rows_alone():
    def run(rows):
        step = np.abs(rows).max() / 7
        return np.round(rows / step) * step

    model = batching.IndependentRows(run, 4, ROWS[:16])
    assert np.array_equal(model(ROWS), np.concatenate([run(row[None]) for row in ROWS]))


@pytest.mark.parametrize(("effect", "told"), [(0.0, []), (1e-7, []), (0.01, ["32", "0.2"])])
def test_what_a_calls_size_changes_in_an_answer_is_noted_with_its_amount(effect, told):
    def function(rows):  # alone 1.01, among 32 inputs 1.32: the difference is 0.23 of the larger
        return rows @ WEIGHTS * (1 + effect * len(rows))

    model = subjects.ObjectSubject("f", FunctionRuntime(function, "f", ROWS))
    with model.open(OpeningRequest(feeding(), False, ROWS)) as opened_model:
        notes = [note for note in opened_model.notes if all(number in note for number in told)]
    assert len(notes) == bool(told), notes


@pytest.mark.parametrize("fails", [False, True])
def test_every_size_into_which_a_call_is_cut_is_tried(fails):
    def run(rows):
        if fails and len(rows) >= 32:
            raise RuntimeError("its shapes are written into its operators")
        return rows - rows.mean() if len(rows) >= 32 else rows * 2

    model = batching.IndependentRows(run, None, ROWS[:16], sizes=(32, 8))
    assert np.array_equal(model(ROWS), ROWS * 2)


def test_tokens_become_one_hot_rows_where_the_model_takes_rows_of_numbers(tmp_path):
    """A token that is no place of a row, such as padding, becomes zeros."""
    tokens = np.array([[0, 2, 1], [2, 2, 3]])
    model = opened(linear_in_time(tmp_path / "l.onnx", WEIGHTS), tokens)
    rows = np.concatenate([WEIGHTS, np.zeros((1, 2), np.float32)])
    assert np.array_equal(model.predict(tokens), rows[tokens].reshape(2, -1))


def test_masks_are_derived_and_constants_given(tmp_path):
    path = masked(tmp_path / "m.onnx")
    tokens = np.array([[5, 6, 7, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    rows = opened(path, tokens, constants=[{"input": "factor", "value": 10}]).predict(tokens)
    assert rows.tolist() == [[180], [10]]
    other = opened(path, tokens, constants=[{"input": "factor", "value": 1}], pad=7).predict(tokens)
    assert other.tolist() == [[11], [1]], "another token stands behind the end"
    with pytest.raises(UserError, match=r"factor.*--constant"):
        opened(path, tokens)


@pytest.mark.parametrize("context", [0, 2])
def test_a_streaming_model_is_called_step_by_step(tmp_path, context):
    items = RNG.standard_normal((5, 12)).astype(np.float32)
    step = 4 - context
    model = opened(streaming(tmp_path / "s.onnx"), items, context=context)
    expected = []
    for item in items:
        state, before, steps = 0.0, np.zeros(context), []
        for start in range(0, 12 - step + 1, step):
            given = np.concatenate([before, item[start : start + step]])
            state = 0.5 * state + given.mean()
            steps.append(state)
            before = given[len(given) - context :] if context else before
        expected.append(steps)
    rows = model.predict(items)
    assert rows == pytest.approx(np.array(expected), abs=1e-6)
    assert model.form.shapes == {"y": (12 // step, 1)}
    assert np.array_equal(rows, alone(model, items))


def test_a_stream_that_is_too_short_is_one_line(tmp_path):
    items = np.zeros((2, 3), np.float32)
    with pytest.raises(UserError, match=r"s\.onnx.* 4 numbers .*3"):
        opened(streaming(tmp_path / "s.onnx"), items)


def test_inputs_that_do_not_fit_are_one_line(tmp_path):
    path = linear(tmp_path / "a.onnx", WEIGHTS)
    with pytest.raises(UserError, match=r"a\.onnx failed"):
        opened(path, np.zeros((2, 7), np.float32))
    with pytest.raises(UserError, match="no input z"):
        opened(path, ROWS, input="z")
    with pytest.raises(UserError, match="no output z"):
        opened(path, ROWS, outputs=["z"])


def test_a_model_in_another_process_is_the_same(tmp_path):
    path = quantised(tmp_path / "q.onnx", WEIGHTS)
    here = opened(path, ROWS)
    with IsolatedFileModel(path, OpeningRequest(feeding(), False, ROWS[:8])) as there:
        assert np.array_equal(here.predict(ROWS), there.predict(ROWS))
        assert (there.classes, there.form.shapes, there.name) == (2, {"y": (2,)}, "q.onnx")
    with pytest.raises(UserError, match=r"q\.onnx failed"):
        IsolatedFileModel(path, OpeningRequest(feeding(), False, np.zeros((2, 9), np.float32)))


def test_what_is_sent_to_another_process_has_a_size(tmp_path, monkeypatch):
    path = quantised(tmp_path / "q.onnx", WEIGHTS)
    monkeypatch.setattr(subjects, "_AT_ONCE", 3 * (ROWS[0].nbytes + 4 * 2))
    with IsolatedFileModel(path, OpeningRequest(feeding(), False, ROWS[:8])) as there:
        asked, ask = [], there.ask
        monkeypatch.setattr(there, "ask", lambda a: asked.append(len(a[0])) or ask(a))
        assert np.array_equal(opened(path, ROWS).predict(ROWS), there.predict(ROWS))
        assert max(asked) == 3


def test_large_rows_run_alone(tmp_path, monkeypatch):
    path = quantised(tmp_path / "q.onnx", WEIGHTS)
    whole = opened(path, ROWS).predict(ROWS)
    monkeypatch.setattr(batching, "_LARGE_ROW", 1)
    model = opened(path, ROWS)
    sizes, run = [], model._runtime.run
    monkeypatch.setattr(
        model._runtime, "run", lambda a: sizes.append(len(next(iter(a.values())))) or run(a)
    )
    assert np.array_equal(model.predict(ROWS), whole)
    assert set(sizes) == {1}


def test_a_keras_classifier_of_images_runs_as_its_export_and_other_models_in_keras(tmp_path):
    layers = keras.layers
    image = keras.Input((6, 6, 1))
    classifier = keras.Model(image, layers.Dense(3, "softmax")(layers.Flatten()(image)))
    classifier.save(tmp_path / "images.keras")
    pictures = RNG.random((20, 6, 6, 1), np.float32)
    one, other = keras.Input((4,), name="one"), keras.Input((2,), name="other")
    both = layers.Dense(3)(layers.Concatenate()([one, other]))
    keras.Model([one, other], both).save(tmp_path / "two.keras")
    rows = RNG.standard_normal((20, 4)).astype(np.float32)
    for path, items, expected in (
        (tmp_path / "images.keras", pictures, classifier(pictures).numpy()),
        (tmp_path / "two.keras", rows, None),
    ):
        model = opened(path, items, constants=[{"input": "other", "value": 1}])
        found = model.predict(items)
        assert found.shape == (20, 3)
        assert np.array_equal(found, alone(model, items)), "whatever the batch"
        if expected is not None:
            assert found == pytest.approx(expected, abs=1e-5)


def test_a_session_of_onnx_runtime_has_one_thread(tmp_path, monkeypatch):
    """Several calls run side by side instead."""
    import onnxruntime

    made, own = [], onnxruntime.InferenceSession

    def session(content, options, providers):
        made.append((options.intra_op_num_threads, providers))
        return own(content, options, providers=providers)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    runtime = open_runtime(linear(tmp_path / "a.onnx", WEIGHTS, 4))
    assert made == [(1, ["CPUExecutionProvider"])]
    assert runtime.fixed_batch == 4
    assert open_runtime(linear(tmp_path / "b.onnx", WEIGHTS, "n")).fixed_batch is None


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
