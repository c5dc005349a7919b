"""The tasks by which models are run, as a pool without processes notes them."""

from asterism.differential.engine.execution import execute
from asterism.differential.engine.tasks import Result


class NotingPool:
    """Runs nothing."""

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
