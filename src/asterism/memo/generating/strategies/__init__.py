"""Ways to generate models: what a strategy is, and the campaign that it fills with models.

That campaign is Algorithm 2 of the paper. A strategy yields candidate graphs one after the other
and is told what each was worth; the campaign counts valid ones until the budget is spent. Nothing
is built or run here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from asterism.core.parameters.registry import Registry
from asterism.core.random_streams import stream
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.memo.generating.campaign import (
    MUTANTS,
    GenerationCampaign,
    Mutant,
    read_state,
    write_state,
)
from asterism.memo.generating.operators import OPERATORS, MutationContext
from asterism.memo.generating.params import GenerateParams
from asterism.memo.graphs.coverage import Coverage, coverage_of
from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.tensors import InvalidLayerError


class Strategy(ABC):
    """A strategy proposes graphs; one object serves one campaign.

    Args:
        seeds: seed models by name.
        params: budget and limits.
    """

    def __init__(self, seeds: dict[str, Graph], params: GenerateParams) -> None:
        self.seeds = seeds
        self.params = params

    @abstractmethod
    def propose(self, rng: np.random.Generator, coverage: Coverage) -> Mutant | None:
        """The next graph (its gain still 0), or None where this draw gave no valid one."""

    def reward(self, mutant: Mutant) -> None:  # noqa: B027  (some do not learn)
        """Learn the reward of the latest proposal."""

    def learnt(self) -> Any:
        """The strategy's state, as a JSON value that :meth:`restore` reads."""
        return None

    def restore(self, learnt: Any) -> None:  # noqa: B027  (some do not learn)
        """Restore the state of another object of this strategy."""

    @property
    def limit(self) -> int | None:
        """How many proposals there are; None where they never end."""
        return None


class ExtraReward(Protocol):
    """A reward beside coverage of the layer universe, such as branches of the libraries' code."""

    def __call__(self, graph: Graph) -> int:
        """What a model adds."""

    def learnt(self) -> Any:
        """The reward's state, as a JSON value that :meth:`restore` reads."""

    def restore(self, learnt: Any) -> None:
        """Restore a state that :meth:`learnt` gave."""


STRATEGIES: Registry[type[Strategy]] = Registry(
    "generation strategy", "asterism.memo.generating.strategies"
)


def run_campaign(
    seeds: dict[str, Graph],
    params: GenerateParams,
    seed: int,
    strategy: str,
    island: int = 0,
    checkpoint: Checkpoint | None = None,
    extra: ExtraReward | None = None,
) -> GenerationCampaign:
    """Propose and add mutants until the budget is spent.

    Args:
        seeds: seed models by name, at least one.
        params: budget and limits.
        seed: the run's seed. A proposal's randomness depends on it, the strategy, the island and
            the proposal's number alone.
        strategy: name in :data:`STRATEGIES`.
        island: number of this campaign among those that share a budget.
        checkpoint: where a killed campaign goes on, to the very same result.
        extra: a further reward.
    """
    begun, result = 0, GenerationCampaign(coverage_of(seeds.values()))
    made = STRATEGIES[strategy](seeds, params)

    def read(folder: Path) -> tuple[int, GenerationCampaign, Strategy]:
        known, proposals, learnt = read_state(folder, seeds.values())
        learning = STRATEGIES[strategy](seeds, params)
        learning.restore(learnt["strategy"])
        if extra is not None:
            extra.restore(learnt["extra"])
        return proposals, known, learning

    if checkpoint is not None and (saved := checkpoint.restore(read)) is not None:
        begun, result, made = saved
    # A strategy that keeps failing must end too: a hundred proposals for each model are plenty.
    most = 100 * params.models if made.limit is None else made.limit
    for number in range(begun, most):
        if len(result.mutants) == params.models:
            break
        rng = stream(seed, "generate", strategy, island, number)
        mutant = made.propose(rng, result.coverage)
        if mutant is None:
            result.rejected["no valid draw"] += 1
            continue
        known = len(result.coverage.inputs)
        gained = result.add(mutant)
        more = 0 if extra is None else extra(gained.graph)
        if params.published:  # the paper counts types, pairs and parameters
            more -= len(result.coverage.inputs) - known
        made.reward(replace(gained, gain=gained.gain + more))
        if checkpoint is not None and checkpoint.is_due():
            learnt = {"strategy": made.learnt(), "extra": extra.learnt() if extra else None}
            checkpoint.save(write_state(result, number + 1, learnt), [MUTANTS])
    return result


def within_limits(graph: Graph, params: GenerateParams, parent: Graph | None = None) -> bool:
    """Whether a mutant is small enough to be run.

    It may have as large a tensor and as many steps as the graph that it was made from.
    """
    largest, steps = (0, 0) if parent is None else (parent.largest, parent.steps)
    return (
        len(graph.layers) <= params.max_layers
        and graph.largest <= max(params.max_elements, largest)
        and graph.steps <= max(params.max_steps, steps)
    )


def draw_mutant(
    name: str, graph: Graph, context: MutationContext, params: GenerateParams
) -> Graph | None:
    """One mutant by an operator, after as many draws as ``params`` allow; None where all fail."""
    for _ in range(params.tries):
        try:
            mutant = OPERATORS[name].mutate(graph, context)
        except InvalidLayerError:
            continue
        if within_limits(mutant, params, graph):
            return mutant
    return None
