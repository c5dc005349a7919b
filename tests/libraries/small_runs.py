"""How tests run models: workers and what they are asked, what is judged, and by which bounds."""

import os
import subprocess
import sys
from contextlib import contextmanager

import numpy as np

from asterism.core.workers.worker import Limits
from asterism.differential.adapters.backends import REFERENCES, library_of
from asterism.differential.engine.execution import execute
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.tasks import Result, Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import Finding
from asterism.differential.oracle.oracle import judge
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.triage.params import TriageParams
from asterism.differential.triage.reproduction import ReproducedRun
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

#: Time and memory enough for any worker that does not fail.
LIMITS = Limits(300.0, 8000)
#: The bounds that nearly all tests judge by.
JUDGE = JudgeParams(ulps=64, conditioning=8)


def worker_environment(module, folder="tests"):
    """Variables with which workers find libraries outside of the package."""
    return {"ASTERISM_LIBRARIES": module, "PYTHONPATH": os.pathsep.join(["src", folder])}


def python(*arguments, folder=None, **variables):
    """A process of this Python, which has ended."""
    given = {"cwd": folder, "env": os.environ | variables, "capture_output": True, "text": True}
    return subprocess.run([sys.executable, *map(str, arguments)], **given, check=False)


@contextmanager
def working(backends, limits=LIMITS, **more):
    """A worker pool in which each of the backends works."""
    with WorkerPool(backends, limits, **more) as pool:
        assert pool.start() == {}
        yield pool


def triage_params(**changes):
    """Parameters of triage: no time limit, and no known issues, but for changes."""
    none = {"minutes": 0, "known_issues": "conf/no_file"}
    return TriageParams(**{"hang_seconds": 10, **none, **changes})


def cotangent(shape):
    """Weights of an output's elements in the sum that is differentiated: a second description."""
    return np.cos(np.arange(int(np.prod(shape)), dtype=np.float64)).reshape(shape)


def chained(shape, *layers, dtype="float32"):
    """A model of these layers, one after the other."""
    return sequential(Tensor(shape, dtype), layers)


def task_of(graph, *kinds, index=0, **more):
    """A model to run with inputs of these kinds, as they are drawn for it."""
    inputs = {kind: sample_inputs(graph, 0, index, kind) for kind in kinds}
    return Task(index, graph, inputs, **more)


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


class NotingPool:
    """A worker pool that notes the tasks and runs nothing."""

    def __init__(self, backends):
        self.backends, self.tasks = tuple(backends), []

    def start(self):
        return {}

    def run_all(self, tasks):
        for task in tasks:
            self.tasks.append(task)
            yield Result(task.index, tuple(task.inputs))


def request(folder, more_of_model=None, **more):
    """What a worker is told: to run a model with the ordinary inputs that lie in a folder."""
    files = {"inputs": str(folder / "inputs.npz"), "target": str(folder / "out.npz")}
    facts = {"step": "run", "backend": "b", "option": "o", "distributions": ["normal"]}
    model = {"folder": str(folder), "opset": 15, "batch": 2, **(more_of_model or {})}
    return {**facts, **files, "dtype": None, "model": model, **more}


def tasks_of(graphs, distributions, backends, **shares):
    """What models are run with, and where."""
    pool = NotingPool(backends)
    execute(graphs, pool, distributions, 0, **shares)
    return pool.tasks
