"""LiteRT files of any signature, written by hand: batches, states, variables."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from onnx_networks import feeding, opened
from small_litert import LiteFile, lite_linear, lite_streaming, lite_variable

from asterism.core.messages.errors import UserError
from asterism.models.foreign.litert import read_litert
from asterism.models.formats import open_runtime
from asterism.models.signatures.reading import read_signature
from asterism.models.signatures.signature import Signature, TensorSpec
from asterism.models.tensor_models.answers import ComparedOutputs
from asterism.models.tensor_models.feeding import Feed

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(3, 2)).astype(np.float32)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 32, 43, 80])
def test_any_number_of_rows_is_cut_into_batches(tmp_path, count):
    runtime = open_runtime(lite_linear(tmp_path / "a.tflite", WEIGHTS))
    assert runtime.fixed_batch is None
    rows = RNG.normal(size=(count, 3)).astype(np.float32)
    asked = []
    inner = runtime._run
    runtime._run = lambda inputs: (asked.append(len(inputs["x"])), inner(inputs))[1]
    assert runtime.run({"x": rows})["y"] == pytest.approx(rows @ WEIGHTS, abs=1e-5)
    left = count % 32
    assert asked == [32] * (count // 32) + [8] * (left // 8) + [1] * (left % 8)


def test_a_file_for_several_items_gets_so_many(tmp_path):
    runtime = open_runtime(lite_linear(tmp_path / "a.tflite", WEIGHTS, batch=4))
    assert runtime.fixed_batch == 1


def test_threads_have_interpreters_of_their_own(tmp_path):
    runtime = open_runtime(lite_linear(tmp_path / "a.tflite", WEIGHTS))
    parts = RNG.normal(size=(12, 9, 3)).astype(np.float32)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda part: runtime.run({"x": part})["y"], parts))
    assert np.array(found) == pytest.approx(parts @ WEIGHTS, abs=1e-5)


def test_an_interpreter_is_opened_once_for_each_shape(tmp_path, monkeypatch):
    runtime = open_runtime(lite_linear(tmp_path / "a.tflite", WEIGHTS))
    opened, inner = [], runtime._open
    monkeypatch.setattr(runtime, "_open", lambda shapes: opened.append(shapes) or inner(shapes))
    for count in (1, 8, 1, 9):
        runtime.run({"x": np.zeros((count, 3), np.float32)})
    assert opened == [((1, 3),), ((8, 3),)]
    runtime.reset()  # nothing to forget: the interpreters stay
    runtime.run({"x": np.zeros((1, 3), np.float32)})
    assert len(opened) == 2


def test_a_streaming_file_takes_one_item_and_carries_its_state(tmp_path):
    path = lite_streaming(tmp_path / "s.tflite")
    found = read_signature(path)
    assert found.states == (("state_in", "state_out"),)
    assert found.answers == (TensorSpec("y", "float32", (1, 2), made_by="neg"),)
    runtime = open_runtime(path)
    assert runtime.fixed_batch == 1
    x, state = np.float32([[1, 2]]), np.float32([[10, 20]])
    outputs = runtime.run({"x": x, "state_in": state})
    assert {name: value.tolist() for name, value in outputs.items()} == {
        "y": [[-11, -22]],
        "state_out": [[11, 22]],
    }
    items = RNG.normal(size=(3, 8)).astype(np.float32)
    expected = -items.reshape(3, 4, 2).cumsum(axis=1).reshape(3, 8)
    assert opened(path, items).predict(items) == pytest.approx(expected, abs=1e-5)


def test_a_variable_is_forgotten_before_each_item(tmp_path):
    """It is a resource variable, which LiteRT's own reset leaves as it is."""
    path = lite_variable(tmp_path / "v.tflite")
    assert read_signature(path).variables
    runtime = open_runtime(path)
    assert runtime.fixed_batch == 1
    x = np.float32([[1, 2]])
    assert [runtime.run({"x": x})["y"].tolist() for _ in range(2)] == [[[1, 2]], [[2, 4]]]
    runtime.reset()
    assert runtime.run({"x": x})["y"].tolist() == [[1, 2]]
    items = RNG.normal(size=(3, 6)).astype(np.float32)
    expected = items.reshape(3, 3, 2).cumsum(axis=1).reshape(3, 6)
    assert opened(path, items).predict(items) == pytest.approx(expected, abs=1e-5)


def test_a_file_that_litert_cannot_open_is_one_line(tmp_path):
    path = lite_linear(tmp_path / "a.tflite", WEIGHTS)
    runtime = open_runtime(path)
    path.write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"LiteRT cannot open .*a\.tflite"):
        runtime.run({"x": np.zeros((8, 3), np.float32)})
    with pytest.raises(UserError, match=r"a\.tflite"):
        open_runtime(path)


def test_compared_outputs_are_real_numbers_side_by_side(tmp_path):
    signature = read_signature(lite_linear(tmp_path / "a.tflite", WEIGHTS))
    specs = (
        TensorSpec("q", "int8", (None, 2), scale=0.5, zero=3),
        TensorSpec("ids", "int64", (None,)),
        TensorSpec("y", "float32", (None, 1, 2)),
    )
    signature = replace(signature, outputs=specs)
    values = {
        "y": np.float32([[[1, 2]], [[3, 4]]]),
        "ids": np.int64([7, 8]),
        "q": np.int8([[3, 5], [-1, 4]]),
    }
    compared = ComparedOutputs(signature, None, "m")
    assert compared.rows(values, 2).tolist() == [[0, 1, 1, 2], [-2, 0.5, 3, 4]]
    assert compared.rows(values, 2).dtype == np.float32
    assert {name: part.shape for name, part in compared.answers(values, 2).items()} == {
        "q": (2, 2),
        "y": (2, 1, 2),
    }
    named = ComparedOutputs(signature, ["ids", "y"], "m")
    assert named.rows(values, 2).tolist() == [[7, 1, 2], [8, 3, 4]]
    only = ComparedOutputs(replace(signature, outputs=specs[1:2]), None, "m")
    assert only.rows(values, 2).tolist() == [[7], [8]]
    with pytest.raises(UserError, match=r"output z .*q, ids, y\)"):
        ComparedOutputs(signature, ["z"], "m")
    for count, shape in ((3, (2, 2)), (2, ())):
        wrong = values | {"q": np.zeros(shape, np.int8)}
        message = rf"m: the output q has the shape {shape} for {count} inputs".replace("(", r"\(")
        with pytest.raises(UserError, match=message.replace(")", r"\)")):
            compared.rows(wrong, count)


@pytest.mark.parametrize(("size", "fits"), [(399_999, True), (400_000, False)])
def test_tensors_of_all_graphs_have_to_fit_together(tmp_path, monkeypatch, size, fits):
    """By what the file declares, of which LiteRT would allocate all; a scalar is one value."""
    monkeypatch.setenv("ASTERISM_LIMITS_ARRAY_MB", "1")
    file = LiteFile()
    file.graph({"x": (600, 1000)}, [], ["x"], ["x"])
    file.graph({"y": (size,), "scalar": ()}, [], ["y"], ["y"])
    path = file.write(tmp_path / "a.tflite")
    if fits:
        read_litert(path)
        return
    with pytest.raises(UserError, match=r"a\.tflite .*1 MB"):
        open_runtime(path)


def test_an_item_goes_to_the_first_input_or_to_the_one_that_is_named():
    inputs = (
        TensorSpec("state_in", "float32", (1, 2)),
        TensorSpec("a", "float32", (None, 3)),
        TensorSpec("b", "int8", (None, 3), scale=0.5, zero=1),
    )
    outputs = (TensorSpec("y", "float32", (None, 2)), TensorSpec("state_out", "float32", (1, 2)))
    signature = Signature("tflite", inputs, outputs, states=(("state_in", "state_out"),))
    items = np.float32([[1, -2, 100]])
    for name, other, given in (("b", "a", [[3, -3, 127]]), (None, "b", items.tolist())):
        params = feeding(input=name, constants=[{"input": other, "value": 4}])
        feed = Feed(signature, params, False)
        assert feed.main == inputs[2 if name else 1]
        values = feed.inputs(items)
        assert values[feed.main.name].tolist() == given
        assert values[other].tolist() == [[4, 4, 4]]
        assert {k: v.tolist() for k, v in feed.first_states(1).items()} == {"state_in": [[0, 0]]}
        assert feed.next_states({"y": 1, "state_out": 2}) == {"state_in": 2}
    with pytest.raises(UserError, match=r"input c .*a, b\)"):
        Feed(signature, feeding(input="c"), False)
    with pytest.raises(UserError, match="only inputs are states"):
        Feed(replace(signature, inputs=inputs[:1]), feeding(), False)
