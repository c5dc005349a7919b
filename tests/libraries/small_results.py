"""Models, results and findings that tests make up, and what is said of them."""

from asterism.differential.adapters.backend_names import REFERENCES, library_of
from asterism.differential.engine.tasks import ExecutionOutcome, Result
from asterism.differential.oracle.finding import Finding
from asterism.differential.oracle.oracle import judge
from asterism.differential.params import JudgeParams, TriageParams
from asterism.differential.shrinking.reproduction import ReproducedRun
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

#: The bounds that nearly all tests judge by.
JUDGE = JudgeParams(ulps=64, conditioning=8)


def triage_params(**changes):
    """Parameters of triage: no time limit, and no known issues, but for changes."""
    none = {"minutes": 0, "known_issues": "conf/no_file"}
    return TriageParams(**{"hang_seconds": 10, **none, **changes})


def chained(shape, *layers, dtype="float32"):
    """A model of these layers, one after the other."""
    return sequential(Tensor(shape, dtype), layers)


def verdict_on(graph, result):
    """What the oracle says of a result."""
    return judge(graph, result, JUDGE, 0)


def made_result(given, kind="normal", *, model=0, warned=None, **facts):
    """What backends put out with inputs of a kind, or the outcomes of those that failed."""
    result, warnings = Result(model, (kind,), **facts), warned or {}
    for backend, value in given.items():
        if isinstance(value, ExecutionOutcome):
            result.outcomes[backend] = value
            continue
        said = warnings.get(backend, "")
        result.outcomes[backend] = ExecutionOutcome(model, backend, "run", "ok", warned=said)
        result.outputs[backend] = {kind: value}
    return result


def made_finding(symptom="values differ", backend="jax:jit", kind="normal", *, model=0, **more):
    """What one backend did with one kind of inputs."""
    return Finding(model, symptom, "run", library_of(backend), (backend,), (kind,), **more)


def straight(kinds):
    """Layers of these types, one after the other."""
    configs = {"Dense": {"units": 4}, "Dropout": {"rate": 0.3}}
    return chained((4,), *(layer(k, **configs.get(k, {})) for k in kinds))


def types(graph):
    """Types of a model's layers."""
    return [graph.nodes[i].type for i in graph.layers]


class Everything:
    """A worker pool where every backend can be used, and no worker dies."""

    deaths = 0

    def usable(self, wanted=None):
        return wanted or (
            *("jax:eager", "jax:jit", "openvino:tf2onnx", "pytorch:eager", "tensorflow:xla"),
            *(*REFERENCES, "onnxruntime:keras_onnx", "onnxruntime:tf2onnx"),
        )


class Showing(Everything):
    """Workers in which a finding shows where a condition holds."""

    def __init__(self, holds):
        self._holds, self.worker_pool = holds, self

    def look(self, graph, finding, **options):
        shows = self._holds(graph, finding, options)
        return ReproducedRun(finding if shows else None, dict.fromkeys(self.usable(), "ok"))
