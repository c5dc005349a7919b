"""How tests run models: workers, and what they are asked; other processes."""

import os
import subprocess
import sys
from contextlib import contextmanager

import numpy as np

from asterism.core.workers.worker import WorkerLimits
from asterism.differential.adapters.backend_names import library_of
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.engine.execution import execute
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.tasks import Result, Task
from asterism.differential.engine.worker_pool import WorkerPool

#: Time and memory enough for any worker that does not fail.
LIMITS = WorkerLimits(300.0, 8000)


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
        left_out = pool.start()
        assert left_out == {}, left_out
        yield pool


def cotangent(shape):
    """Weights of an output's elements in the sum that is differentiated: a second description."""
    return np.cos(np.arange(int(np.prod(shape)), dtype=np.float64)).reshape(shape)


def differentiating(backends):
    """Those of some backends that differentiate."""
    return tuple(b for b in backends if LIBRARIES[library_of(b)].differentiates)


def task_of(graph, *kinds, index=0, **more):
    """A model to run with inputs of these kinds, as they are drawn for it."""
    inputs = {kind: sample_inputs(graph, 0, index, kind) for kind in kinds}
    return Task(index, graph, inputs, **more)


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
