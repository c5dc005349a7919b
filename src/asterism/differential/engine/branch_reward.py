"""New branches of the libraries' Python code as a further reward of generation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asterism.core.workers.worker import WorkerLimits
from asterism.differential.engine.branches import SWITCH
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.memo.graphs.graph import Graph

#: Nothing is judged here, so only what never ends must be ended.
_LIMITS = WorkerLimits(seconds=240, memory_mb=3000)


class BranchReward:
    """Runs models and counts the branches that they are the first to reach.

    Args:
        worker_pool: where models are run; its workers measure branches.
        seed: the seed of the inputs.
    """

    def __init__(self, worker_pool: WorkerPool, seed: int) -> None:
        self._worker_pool = worker_pool
        self._seed = seed
        self._models = 0
        self._branches: set[str] = set()
        self._exits: dict[str, int] = {}

    def __call__(self, graph: Graph) -> int:
        """How many branches ``graph`` is the first to reach."""
        inputs = {"normal": sample_inputs(graph, self._seed, self._models, "normal")}
        self._models += 1
        self._worker_pool.run(Task(self._models, graph, inputs))
        before = len(self._branches)
        for news in self._worker_pool.news():
            self._branches.update(news["branches"])
            self._exits.update(news["exits"])
        return len(self._branches) - before

    def learnt(self) -> dict[str, Any]:
        """What was reached so far, as a JSON value."""
        return {
            "models": self._models,
            "branches": sorted(self._branches),
            "exits": dict(sorted(self._exits.items())),
        }

    def restore(self, learnt: dict[str, Any]) -> None:
        """Continue from what :meth:`learnt` gave."""
        self._models = int(learnt["models"])
        self._branches = set(learnt["branches"])
        self._exits = dict(learnt["exits"])


@contextmanager
def branch_reward(backends: Sequence[str], weights: Path, seed: int) -> Iterator[BranchReward]:
    """A reward whose workers end with the block.

    Args:
        backends: where models are run.
        weights: file of the arrays that nodes may name.
        seed: the seed of the inputs.
    """
    with WorkerPool(backends, _LIMITS, weights, {SWITCH: "1"}) as worker_pool:
        worker_pool.start()
        yield BranchReward(worker_pool, seed)
