"""Generating models: Algorithm 2 of the paper, its ablations and the baselines.

A strategy yields candidate graphs one after the other and is told what each was worth; the
campaign counts valid ones until the budget is spent. Nothing is built or run here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from asterism.core.registry import Registry
from asterism.core.streams import stream
from asterism.memo.coverage import Coverage, elements_of
from asterism.memo.graph import Graph
from asterism.memo.operator import OPERATORS, Context
from asterism.memo.params import GenerateParams
from asterism.memo.tensors import InvalidLayerError


@dataclass(frozen=True)
class Mutant:
    """A generated model.

    Args:
        graph: the model.
        seed_model: name of the seed that it descends from, empty for a model from scratch.
        operator: the operator that made it.
        gain: coverage elements that it was the first to cover.
    """

    graph: Graph
    seed_model: str
    operator: str
    gain: int


class Strategy(ABC):
    """Proposes graphs. One object serves one campaign.

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
        """Be told what the latest proposal was worth."""

    @property
    def limit(self) -> int | None:
        """How many proposals there are; None where they never end."""
        return None


STRATEGIES: Registry[type[Strategy]] = Registry("generation strategy", "asterism.memo.strategies")


@dataclass
class Campaign:
    """What a strategy produced with its budget."""

    mutants: list[Mutant] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    growth: list[dict[str, float]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._record()

    def add(self, mutant: Mutant) -> Mutant:
        """Count a model in; it comes back with what it gained."""
        elements = elements_of(mutant.graph)
        gained = replace(mutant, gain=self.coverage.gain(elements))
        self.coverage.update(elements)
        self.mutants.append(gained)
        self._record()
        return gained

    def _record(self) -> None:
        self.growth.append({"models": len(self.mutants), **self.coverage.rates()})


def start_coverage(seeds: dict[str, Graph]) -> Coverage:
    """What the seed models cover by themselves."""
    coverage = Coverage()
    for graph in seeds.values():
        coverage.update(elements_of(graph))
    return coverage


def campaign(
    seeds: dict[str, Graph], params: GenerateParams, seed: int, strategy: str, chain: int = 0
) -> Campaign:
    """Spend the budget.

    Args:
        seeds: seed models by name, at least one.
        params: budget and limits.
        seed: the run's seed. A proposal's randomness depends on it, the strategy, the chain and
            the proposal's number alone.
        strategy: name in :data:`STRATEGIES`.
        chain: number of this campaign among those that share a budget.
    """
    made = STRATEGIES[strategy](seeds, params)
    result = Campaign(coverage=start_coverage(seeds))
    for rng in _draws(made, params, seed, strategy, chain):
        mutant = made.propose(rng, result.coverage)
        if mutant is None:
            result.refused["no valid draw"] += 1
            continue
        made.reward(result.add(mutant))
        if len(result.mutants) == params.models:
            break
    return result


def _draws(
    strategy: Strategy, params: GenerateParams, seed: int, name: str, chain: int
) -> Iterator[np.random.Generator]:
    # A strategy that keeps failing must end too: a hundred proposals for each model are plenty.
    most = 100 * params.models if strategy.limit is None else strategy.limit
    for number in range(most):
        yield stream(seed, "generate", name, chain, number)


def within_limits(graph: Graph, params: GenerateParams, floor: int = 0) -> bool:
    """Whether a mutant is small enough to be run: by its layers and its largest tensor."""
    largest = max(t.size for t in graph.tensors.values())
    return len(graph.layers) <= params.max_layers and largest <= max(params.max_elements, floor)


def attempt(name: str, graph: Graph, context: Context, params: GenerateParams) -> Graph | None:
    """One mutant by an operator, after as many draws as ``params`` allow; None where all fail."""
    floor = max(t.size for t in graph.tensors.values())
    for _ in range(params.tries):
        try:
            mutant = OPERATORS[name].mutate(graph, context)
        except InvalidLayerError:
            continue
        if within_limits(mutant, params, floor):
            return mutant
    return None
