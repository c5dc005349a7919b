"""How tests run models: variables of workers, parameters, tasks that are planned, cotangents."""

import os

import numpy as np

from asterism.differential.engine.execution import execute
from asterism.differential.engine.tasks import Result
from asterism.differential.triage.params import TriageParams


def worker_environment(module, folder="tests"):
    """Variables with which workers find libraries outside of the package."""
    return {"ASTERISM_LIBRARIES": module, "PYTHONPATH": os.pathsep.join(["src", folder])}


def triage_params(**changes):
    """Parameters of triage: no time limit, and no known issues, but for changes."""
    none = {"minutes": 0, "known_issues": "conf/no_file"}
    return TriageParams(**{"hang_seconds": 10, **none, **changes})


def cotangent(shape):
    """Weights of an output's elements in the sum that is differentiated: a second description."""
    return np.cos(np.arange(int(np.prod(shape)), dtype=np.float64)).reshape(shape)


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


def tasks_of(graphs, distributions, backends, **shares):
    """What models are run with, and where."""
    pool = NotingPool(backends)
    execute(graphs, pool, distributions, 0, **shares)
    return pool.tasks
