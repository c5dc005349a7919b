"""What triage asks while it shrinks and varies, with answers that are made up."""

import pytest

from asterism.differential.adapters.backends import REFERENCES, converter_of
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.tasks import Result, Task
from asterism.differential.oracle.finding import Finding
from asterism.differential.oracle.oracle import judge
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.triage.reproduction import ReproducedRun, Reproduction
from asterism.differential.triage.triage import Triage
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from libraries.small_triage import triage_params
from memo.small_graphs import layer

JUDGE = JudgeParams(ulps=64, conditioning=8)
PARAMS = triage_params(max_unique=5, max_steps=50)
GRAPH = sequential(Tensor((4,)), [layer("ReLU"), layer("Dense", units=4), layer("LeakyReLU")])


def types(graph):
    return [graph.nodes[i].type for i in graph.layers]


class TwoDefects:
    """In the whole model LeakyReLU is wrong; in every smaller one that has it, ReLU is."""

    def look(self, graph, finding, **_):
        answers = dict.fromkeys(Everything().usable(), "ok")
        return ReproducedRun(finding if self.wrong(graph) else None, answers)

    def wrong(self, graph):
        kinds = types(graph)
        if kinds == types(GRAPH):
            return "LeakyReLU"
        return "ReLU" if "ReLU" in kinds else None

    def layer(self, _, graph):
        return next(i for i in graph.layers if graph.nodes[i].type == self.wrong(graph))


def test_a_model_with_another_layer_at_fault_is_no_smaller_one(monkeypatch):
    triage = Triage(Reproduction(Everything(), JUDGE, 0, 10), PARAMS)
    defects = TwoDefects()
    monkeypatch.setattr(triage, "_show", defects)
    monkeypatch.setattr(triage, "_suspect", defects.layer)
    finding = Finding(0, "values differ", "run", "jax", ("jax:jit",), ("normal",))
    found = triage._shrunk(finding, GRAPH, GRAPH.layers[2])
    assert types(found.graph) == types(GRAPH)
    assert found.signature == "values differ | jax | LeakyReLU()"


class Anywhere:
    """Shows in every model of so many layers or more, in its own backends or in all at once."""

    def __init__(self, layers, in_all_backends):
        self.layers, self.in_all_backends = layers, in_all_backends

    def look(self, graph, finding, *, everywhere=False, **_):
        wanted = self.in_all_backends if everywhere else self.layers
        shows = len(graph.layers) >= wanted
        return ReproducedRun(finding if shows else None, dict.fromkeys(Everything().usable(), "ok"))


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
    monkeypatch, layers, in_all_backends, steps, said
):
    params = PARAMS.model_copy(update={"max_steps": steps})
    triage = Triage(Reproduction(Everything(), JUDGE, 0, 10), params)
    monkeypatch.setattr(triage, "_show", Anywhere(layers, in_all_backends))
    finding = Finding(0, "error", "run", "jax", ("jax:jit",), ("normal",))
    found = triage._shrunk(finding, GRAPH, None)
    assert found.minimality.startswith(said)


class Everything:
    """A worker pool where every backend can be used, and no worker dies."""

    deaths = 0

    def usable(self, wanted=None):
        return wanted or (
            "jax:eager",
            "jax:jit",
            "openvino:tf2onnx",
            "pytorch:eager",
            "tensorflow:xla",
            *REFERENCES,
            "onnxruntime:keras_onnx",
            "onnxruntime:tf2onnx",
        )


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
    worker_pool = TakesTheOtherFile()
    (whole,) = judge(GRAPH, worker_pool.run(Task(0, GRAPH, {"normal": []})), JUDGE, 0).findings
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


def test_what_could_not_run_is_not_gone():
    worker_pool = TakesTheOtherFile()
    (whole,) = judge(GRAPH, worker_pool.run(Task(0, GRAPH, {"normal": []})), JUDGE, 0).findings
    (found,), _ = Triage(Reproduction(worker_pool, JUDGE, 0, 10), PARAMS).run(
        [whole], [GRAPH], ["normal"]
    )
    answers = [found.ablation[f"dtype {d}"] for d in ("float32", "float64", "float16")]
    assert answers == ["shows", "shows", "no file to read"]
