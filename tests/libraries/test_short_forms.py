"""Short scripts of models that see other inputs first, are split, or whose inputs are lost."""

import numpy as np
import pytest

from asterism.libraries.adapters.forms import LENGTHENED, SPLIT
from asterism.libraries.adapters.questions import OVERWRITTEN, RESIZED
from asterism.libraries.adapters.whole_graphs import WHOLE
from asterism.libraries.judging.finding import Finding
from asterism.libraries.reporting.confirming import exit_status
from asterism.libraries.reporting.numbers import MAKERS, Numbers, literal_numbers
from asterism.libraries.reporting.python_text import compiles
from asterism.libraries.reporting.reproducer import script_of
from asterism.libraries.reporting.short_code import Code, short_code
from asterism.libraries.reporting.short_forms import running_lines, split_layer
from asterism.libraries.reporting.short_script import short_script
from asterism.libraries.running.tasks import LayerDescription
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

KINDS = (RESIZED, LENGTHENED, SPLIT, OVERWRITTEN)
BACKENDS = (
    "tensorflow:xla",
    "pytorch:compile",
    "jax:jit",
    "onnxruntime:tf2onnx",
    "openvino:tf2onnx",
)
STEPS = sequential(
    Tensor((6, 3)),
    [layer("Conv1D", filters=4, kernel_size=[3]), layer("MaxPooling1D", pool_size=[2])],
)
CONV, POOL = STEPS.layers
LAYERS = {
    CONV: LayerDescription(
        {"filters": 4, "kernel_size": [3]}, [("kernel", (3, 3, 4)), ("bias", (4,))]
    ),
    POOL: LayerDescription({"pool_size": [2]}, []),
}
INPUTS = [np.random.default_rng(5).normal(size=(2, 6, 3)).astype(np.float32)]


def unique(backend, kind, graph=STEPS):
    found = Finding(0, "values differ", "run", backend.partition(":")[0], (backend,), (kind,))
    return UniqueFinding("a | b", found, graph, None, {0}, 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_each_kind_has_a_script_of_few_lines(backend, kind):
    simple = Numbers(
        (MAKERS[1]((2, 6, 3), "float32", 0),),
        {CONV: (MAKERS[2]((3, 3, 4), "float32", 0), MAKERS[1]((4,), "float32", 1))},
    )
    right = [np.zeros((2, 2, 4))]
    text = short_script(unique(backend, kind), LAYERS, simple, right, [right[0] + 1])
    assert text is not None and compiles(text)
    assert len([line for line in text.splitlines() if line.strip()]) <= 25
    assert ("keras.Input((None, 3)" in text) == (kind == LENGTHENED)
    assert ("Concatenate" in text) == (kind == SPLIT)
    assert ("def run(inputs)" in text) == (kind != SPLIT)


def test_what_is_made_for_these_shapes_gets_no_other_ones():
    code = short_code("jax", "export", None, 1)
    assert running_lines(code, RESIZED) is running_lines(code, LENGTHENED) is None
    assert running_lines(code, OVERWRITTEN) is not None


class Faulty:
    """A model that forgets what is beyond the first shape it saw, or gives its inputs away."""

    def __init__(self, axis=None):
        self.axis, self.first = axis, None

    def __call__(self, inputs):
        if self.axis is None:
            return [inputs[0]]
        self.first = self.first or inputs[0].shape[self.axis]
        stale = self.first != inputs[0].shape[self.axis]
        return [inputs[0] * (0 if stale else 1)]


@pytest.mark.parametrize(
    ("kind", "faulty"),
    [(RESIZED, Faulty(0)), (LENGTHENED, Faulty(1)), (OVERWRITTEN, Faulty())],
)
def test_each_kind_of_running_shows_its_fault_and_a_sound_model_nothing(kind, faulty):
    code = Code((), ("function = model",), ("outputs = function(inputs)",))
    for model, right in ((faulty, False), (lambda inputs: [inputs[0] + 0], True)):
        given = np.random.default_rng(0).normal(size=(5, 6, 3))
        names = {"np": np, "model": model, "inputs": [given.copy()]}
        exec("\n".join(running_lines(code, kind)), names)
        assert np.array_equal(names["outputs"][0], given) is right


@pytest.mark.parametrize(
    ("one", "halves"),
    [
        (layer("Dense", units=5), "half"),
        (layer("Dense", units=1), None),
        (layer("Dense", units=4, activation="softmax"), None),
        (layer("AveragePooling1D"), "[..., :1]"),
        (layer("AveragePooling1D", data_format="channels_first"), "[:, :3]"),
        (layer("Conv1D", filters=3, kernel_size=[2], groups=3), None),
        (layer("ReLU"), None),
    ],
)
def test_layers_are_split_as_their_form_splits_them(one, halves):
    graph = sequential(Tensor((6, 3)), [one])
    lines = split_layer(graph, graph.layers[0], graph.nodes[graph.layers[0]].config, ["a", "b"])
    assert (lines is None) == (halves is None)
    assert halves is None or halves in "\n".join(lines)


LYING = ("compile", "compile_dynamic", *WHOLE, "export", "keras_file")
#: Outputs that lie in the inputs' memory, and those whose axes are the other way round.
WRONG = (
    "lambda x, training: x",
    "lambda x, training: model(x, training=training).mT.contiguous().mT",
)


def lying(option, graph, layers, inputs):
    """The short script of wrong buffers, and the check that runs it."""
    found = Finding(0, "wrong buffers", "run", "pytorch", (f"pytorch:{option}",), (OVERWRITTEN,))
    one = UniqueFinding("a | b", found, graph, None, {0}, 4)
    text = short_script(one, layers, literal_numbers(graph, {}, layers, inputs), [], [])
    return text, script_of(one, {}, layers, [], [], [], runs="repro.py")


@pytest.mark.parametrize("option", LYING)
def test_wrong_buffers_have_a_script_of_few_lines(option):
    text, check = lying(option, STEPS, LAYERS, INPUTS)
    assert compiles(text) and compiles(check)
    assert len([line for line in text.splitlines() if line.strip()]) <= 25
    assert all(len(line) <= 120 for line in text.splitlines() if "np.array(" not in line)


@pytest.mark.slow
@pytest.mark.parametrize("option", LYING)
def test_a_check_of_wrong_buffers_says_when_they_are_right(option, tmp_path):
    text, check = lying(option, STEPS, LAYERS, INPUTS)
    (tmp_path / "repro.py").write_text(text)
    (tmp_path / "check.py").write_text(check)
    assert exit_status(tmp_path / "check.py") == 0


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_a_check_shows_wrong_buffers(wrong, tmp_path):
    dense = sequential(Tensor((3,)), [layer("Dense", units=3)])
    layers = {1: LayerDescription({"units": 3}, [("kernel", (3, 3)), ("bias", (3,))])}
    text, check = lying("compile", dense, layers, [np.ones((2, 3), np.float32)])
    assert "torch.compile(model)" in text
    (tmp_path / "repro.py").write_text(text.replace("torch.compile(model)", wrong))
    (tmp_path / "check.py").write_text(check)
    assert exit_status(tmp_path / "check.py") == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", ["tensorflow:graph", "onnxruntime:tf2onnx"])
def test_a_check_of_each_kind_runs_the_short_script_and_decides(backend, kind, tmp_path):
    known = literal_numbers(STEPS, {}, LAYERS, INPUTS)
    kernel, bias = (array.values.astype(np.float64) for array in known.weights[CONV])
    given = INPUTS[0].astype(np.float64)
    steps = np.stack([given[:, at : at + 3] for at in range(4)], 1)
    convolved = np.einsum("nsij,ijk->nsk", steps, kernel) + bias
    right = [convolved.reshape(2, 2, 2, 4).max(axis=2)]
    found = unique(backend, kind)
    for status, off in ((0, 0.0), (1, 0.1)):
        expected = [array + off for array in right]
        (tmp_path / "repro.py").write_text(short_script(found, LAYERS, known, expected, right))
        allowed = [np.full((2, 2, 4), 1e-4)]
        check = script_of(found, {}, LAYERS, [], expected, allowed, runs="repro.py")
        (tmp_path / "check.py").write_text(check)
        assert exit_status(tmp_path / "check.py") == status
        whole = script_of(found, {}, LAYERS, INPUTS, expected, allowed)
        (tmp_path / "whole.py").write_text(whole)
        assert exit_status(tmp_path / "whole.py") == status
