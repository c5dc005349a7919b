"""Triage with answers that are made up: where values go wrong, what is shrunk and varied."""

from dataclasses import replace

import numpy as np
import pytest

from asterism.differential.adapters.backend_names import FLOAT64, REFERENCES, converter_of
from asterism.differential.engine.tasks import ExecutionOutcome, Result, Task
from asterism.differential.shrinking.reproduction import (
    Reproduction,
    ablate,
    find_first_diverging,
    with_dtype,
)
from asterism.differential.shrinking.shrink import isolate_layers
from asterism.differential.triage.triage import Triage, count_findings
from asterism.memo.graphs.graph import INPUT, Graph, Node, input_node
from libraries.small_results import (
    JUDGE,
    Everything,
    Showing,
    chained,
    made_finding,
    triage_params,
    types,
    verdict_on,
)
from memo.small_graphs import layer

PARAMS = triage_params(max_unique=5, max_steps=50)
GRAPH = chained((4,), layer("ReLU"), layer("Dense", units=4), layer("LeakyReLU"))


def wrong_layer(graph):
    """In the whole model LeakyReLU is wrong; in every smaller one that has it, ReLU is."""
    kinds = types(graph)
    if kinds == types(GRAPH):
        return "LeakyReLU"
    return "ReLU" if "ReLU" in kinds else None


def test_a_model_with_another_layer_at_fault_is_no_smaller_one(monkeypatch):
    def suspect(_, graph):
        return next(i for i in graph.layers if graph.nodes[i].type == wrong_layer(graph))

    triage = Triage(Showing(lambda graph, *_: wrong_layer(graph)), PARAMS)
    monkeypatch.setattr(triage, "_suspect", suspect)
    found = triage._shrunk(made_finding(), GRAPH, GRAPH.layers[2])
    assert types(found.graph) == types(GRAPH)
    assert found.signature == "values differ | jax | LeakyReLU()"


@pytest.mark.parametrize(
    ("layers", "in_all_backends", "steps", "said"),
    [
        (1, 1, 50, "minimal, reduced from 3 layers to 1"),
        (3, 3, 50, "minimal, of 3 layers as before"),
        (1, 1, 1, "not minimal, reduced from 3 layers to 1: stopped by triage.max_steps=1"),
        (1, 1, 0, "not minimal, of 3 layers as before: stopped by triage.max_steps=0"),
        (1, 3, 50, "not minimal, of 3 layers as before: none smaller was found"),
    ],
)
def test_a_model_is_minimal_only_where_nothing_smaller_was_left_to_try(
    layers, in_all_backends, steps, said
):
    """It shows in every model of so many layers or more, in its own backends or in all at once."""

    def shows(graph, _, options):
        return len(graph.layers) >= (in_all_backends if options.get("everywhere") else layers)

    params = PARAMS.model_copy(update={"max_steps": steps})
    (found,), _ = Triage(Showing(shows), params).run([made_finding("error")], [GRAPH], ["normal"])
    assert found.minimality.startswith(said)


class TakesTheOtherFile(Everything):
    """ONNX Runtime rejects one converter's file; of a small model it is given the other's too.

    Nothing converts a model in float16.
    """

    def run(self, task):
        small = len(task.graph.layers) == 1
        unfit = any(n.config["dtype"] == "float16" for n in task.graph.nodes.values())
        files = {
            "keras_onnx": "unsupported" if unfit else "ok",
            "tf2onnx": "ok" if small and not unfit else "unsupported",
        }
        outcomes = {}
        for backend in self.usable(task.backends):
            source, end, stage = converter_of(backend), "ok", "run"
            if source is not None:
                outcomes[source] = ExecutionOutcome(0, source, "convert", files[source])
                end, stage = ("ok", "run") if files[source] == "ok" else ("blocked", "convert")
            if backend == "onnxruntime:keras_onnx" and not unfit:
                end, stage = "error", "compile"
            outcomes[backend] = ExecutionOutcome(
                0, backend, stage, end, "Rejected" * (end == "error")
            )
        return Result(0, tuple(task.inputs), outcomes)


def test_whom_to_blame_for_the_minimal_model_is_judged_in_all_backends():
    """What could not run is not gone."""
    worker_pool = TakesTheOtherFile()
    (whole,) = verdict_on(GRAPH, worker_pool.run(Task(0, GRAPH, {"normal": []}))).findings
    assert (whole.library, whole.backends) == ("onnxruntime", ("onnxruntime:keras_onnx",))
    told = []
    (found,), _ = Triage(Reproduction(worker_pool, JUDGE, 0, 10), PARAMS).run(
        [whole], [GRAPH], ["normal"], told.append
    )
    assert len(found.graph.layers) == 1 and told == [found]
    assert found.finding.library == "keras_onnx"
    assert found.signature == "error | keras_onnx | Rejected"
    assert "onnxruntime:tf2onnx" in found.finding.agreeing
    assert found.ablation["onnxruntime:keras_onnx"] == "shows"
    assert found.ablation["onnxruntime:tf2onnx"] == "ok"
    assert not set(REFERENCES) & set(found.ablation)
    answers = [found.ablation[f"dtype {d}"] for d in ("float32", "float64", "float16")]
    assert answers == ["shows", "shows", "no file to read"]


RIGHT = np.linspace(-2, 2, 8).reshape(2, 4)


class Putting:
    """A worker pool whose library is wrong at some nodes, for some inputs."""

    def __init__(self, wrong):
        self.wrong = wrong
        self.tasks = []

    def run(self, task):
        self.tasks.append(task)
        outputs = {}
        for backend in task.backends:
            outputs[backend] = {}
            for distribution in task.inputs:
                bad = self.wrong.get(distribution, ()) if backend == "jax:jit" else ()
                dtype = np.float64 if backend in FLOAT64 else np.float32
                outputs[backend][distribution] = [
                    (RIGHT + 10 * (node in bad)).astype(dtype) for node in task.outputs
                ]
        return Result(task.index, tuple(task.inputs), {}, outputs)


@pytest.mark.parametrize(
    ("wrong", "first"),
    [
        ({}, None),
        ({"normal": {1, 2, 3}}, 1),
        ({"normal": {2, 3}}, 2),
        ({"normal": {3}}, 3),
        ({"wide": {3}}, 3),
        ({"normal": {2}, "wide": {1}}, 2),
    ],
)
def test_the_first_layer_that_is_wrong_on_right_inputs_is_found(wrong, first):
    pool = Putting(wrong)
    inputs = {"normal": [RIGHT], "wide": [RIGHT]}
    found = find_first_diverging(Reproduction(pool, JUDGE, 0, 9), Task(7, GRAPH, inputs), "jax:jit")
    assert found == first
    (task,) = pool.tasks
    assert (task.index, task.outputs) == (7, (1, 2, 3))
    assert task.backends == ("jax:jit", *FLOAT64)
    assert task.inputs is inputs


def test_a_layer_behind_a_wrong_one_is_not_at_fault():
    """Of two branches the second goes wrong by itself, behind a layer that the first spoils."""
    relu = {"dtype": "float32"}
    graph = Graph(
        {
            0: input_node((4,)),
            1: Node("ReLU", relu, (0,)),
            2: Node("ReLU", relu, (0,)),
            3: Node("Add", relu, (1, 2)),
        }
    )
    pool = Putting({"normal": {2, 3}})
    show, task = Reproduction(pool, JUDGE, 0, 9), Task(0, graph, {"normal": [RIGHT]})
    assert find_first_diverging(show, task, "jax:jit") == 2


def in_dtype(graph, dtype):
    return {n.config.get("dtype") for n in graph.nodes.values()} == {dtype}


@pytest.mark.parametrize(
    ("holds", "shown"),
    [
        (lambda graph, found, options: True, None),
        (lambda graph, found, options: in_dtype(graph, "float64"), {"dtype float64"}),
        (lambda graph, found, options: in_dtype(graph, "float16"), {"dtype float16"}),
        (lambda graph, found, options: found.distributions == ("wide",), {"input wide"}),
        (lambda graph, found, options: options.get("batch") == 1, {"batch of 1"}),
        (lambda graph, found, options: options.get("opset") == 15, {"tf2onnx opset 15"}),
    ],
)
def test_each_variation_is_tried_alone(holds, shown):
    found = made_finding(backend="onnxruntime:tf2onnx")
    answers = ablate(Showing(holds), GRAPH, found, ["normal", "wide"])
    assert list(answers) == [
        *("dtype float32", "dtype float64", "dtype float16", "input normal", "input wide"),
        *("tf2onnx opset 13", "tf2onnx opset 15", "tf2onnx opset 17", "batch of 1"),
    ]
    expected = set(answers) if shown is None else shown
    assert {what for what, answer in answers.items() if answer == "shows"} == expected
    assert set(answers.values()) <= {"shows", "gone"}


@pytest.mark.parametrize(
    ("backends", "opsets"),
    [
        (("keras_onnx",), ["keras_onnx opset 15", "keras_onnx opset 17", "keras_onnx opset 18"]),
        (("litert:tflite", "jax:jit"), []),
    ],
)
def test_opsets_are_varied_where_the_format_has_some(backends, opsets):
    found = replace(made_finding(), backends=backends)
    answers = ablate(Showing(lambda *_: True), GRAPH, found, ["normal"])
    assert [what for what in answers if "opset" in what] == opsets


def test_another_dtype_leaves_integers():
    graph = chained((3,), layer("Embedding", input_dim=5, output_dim=2), dtype="int32")
    found = with_dtype(graph, "float16")
    assert [node.config["dtype"] for node in found.nodes.values()] == ["int32", "float16"]
    assert found.nodes[1].config["output_dim"] == 2
    assert graph.nodes[1].config["dtype"] == "float32"


class Usable:
    """A worker pool in which some backends can be used."""

    def __init__(self, *backends):
        self._backends = backends

    def usable(self):
        return self._backends


OTHERS = ("tensorflow:xla", "tensorflow:eager", "pytorch:eager", "openvino:tf2onnx")
#: Where a converter's file is wrong, and what tells that it is the file.
BLAMED = ("openvino:tf2onnx", "openvino:keras_onnx", "onnxruntime:tf2onnx", "tensorflow:eager")


@pytest.mark.parametrize(
    ("found", "usable", "expected"),
    [
        (
            made_finding("error", "tf2onnx"),
            ("jax:jit", "openvino:keras_onnx", "openvino:tf2onnx", "onnxruntime:tf2onnx"),
            ("openvino:tf2onnx",),
        ),
        (
            made_finding("error", agreeing=OTHERS),
            ("jax:jit", *OTHERS),
            ("jax:jit", "pytorch:eager", "tensorflow:eager"),
        ),
        (
            replace(made_finding("error", BLAMED[0], agreeing=BLAMED[1:]), library="tf2onnx"),
            BLAMED,
            BLAMED,
        ),
    ],
)
def test_a_finding_is_asked_of_who_shows_it_and_of_those_that_tell_whom_to_blame(
    found, usable, expected
):
    assert Reproduction(Usable(*usable), JUDGE, 0, 10)._backends(found) == expected


class Unasked:
    """A worker pool that is to run nothing."""

    def run(self, task):
        raise AssertionError(f"ran {sorted(task.inputs)}")


def test_a_kind_of_inputs_that_a_model_has_nothing_for_is_not_run():
    flat = Graph({0: input_node((3,)), 1: Node("ReLU", {"dtype": "float32"}, (0,))})
    show = Reproduction(Unasked(), JUDGE, 0, 10)
    for kind in ("split", "lengthened"):  # it has no layer to split, and no length
        seen = show.look(flat, made_finding(kind=kind))
        assert (seen.finding, seen.answer(("jax:jit",))) == (None, "does not apply")


def test_layers_alone_read_inputs_in_the_place_of_what_is_left_out():
    dense = {"units": 2, "dtype": "float32"}
    graph = Graph(
        {
            0: input_node((3,), "int32"),
            1: Node("Embedding", {"input_dim": 5, "output_dim": 2, "dtype": "float32"}, (0,)),
            2: input_node((3, 2)),
            3: Node("Add", {"dtype": "float32"}, (1, 2)),
            4: Node("Dense", dense, (3,)),
        }
    )
    alone = isolate_layers(graph, {1})
    assert [node.type for node in alone.nodes.values()].count("Embedding") == 1
    (source,) = (i for i in alone.nodes if alone.nodes[i].type == INPUT)
    assert alone.nodes[source] == graph.nodes[0]
    assert alone.nodes[1].inputs == (source,)
    both = isolate_layers(graph, {3, 4})
    inputs = [i for i in both.nodes if both.nodes[i].type == INPUT]
    assert both.nodes[3].inputs == tuple(inputs)
    assert [both.tensors[i].shape for i in inputs] == [(3, 2), (3, 2)]
    assert both.nodes[4].inputs == (3,)
    assert list(both.layers) == [3, 4]


def test_a_failure_is_told_with_what_the_backend_said():
    end = ExecutionOutcome(2, "jax:jit", "compile", "error", "odd.Error", "it broke", "lib/a.py:f")
    again = replace(end, backend="jax:eager")
    other = replace(end, backend="pytorch:eager", frame="lib/b.py:g")
    fine = {r: ExecutionOutcome(2, r, "run", "ok") for r in ("tensorflow:eager", *FLOAT64)}
    outcomes = {o.backend: o for o in (end, again, other)} | fine
    found = verdict_on(GRAPH, Result(2, ("normal",), outcomes)).findings
    assert [(f.library, f.backends, f.frame) for f in found] == [
        ("jax", ("jax:jit", "jax:eager"), "lib/a.py:f"),
        ("pytorch", ("pytorch:eager",), "lib/b.py:g"),
    ]
    first = found[0]
    assert (first.model, first.symptom, first.stage) == (2, "error", "compile")
    assert (first.exception, first.message) == ("odd.Error", "it broke")
    assert first.distributions == ("normal",)
    assert set(first.agreeing) >= {"tensorflow:eager"}


def test_tested_libraries_and_converters_without_a_finding_count_zero():
    given = (("crash", "tf2onnx"), ("values differ", "tf2onnx"), ("crash", "jax:jit"))
    findings = [made_finding(*facts) for facts in given]
    backends = ["tensorflow:eager", "onnxruntime:tf2onnx_optimised", "onnxruntime:keras_onnx"]
    without = dict.fromkeys(("keras", "keras_onnx", "onnxruntime", "tensorflow"), 0)
    assert count_findings(findings, backends) == {
        "by_library": {"jax": 1, "tf2onnx": 2, **without},
        "by_symptom": {"crash": 2, "values differ": 1},
    }
