"""Chains: campaigns of their own that share a budget and are united in the end.

Algorithm 2 is one chain, because every choice depends on the coverage so far. Several chains
begin with the same seeds, draw from streams of their own and know nothing of each other, so they
may run one after another, side by side or on several machines: their union is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Self

from asterism.core.files.artifacts import read_json, write_json
from asterism.core.messages.errors import naming, reading
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.work_units import ALONE, Parts, shares
from asterism.memo.generating.campaign import Campaign, Mutant
from asterism.memo.generating.generate import STRATEGIES, ExtraReward, campaign
from asterism.memo.generating.params import GenerateParams
from asterism.memo.graphs.coverage import coverage_of
from asterism.memo.graphs.graph import Graph

#: Opens a chain's further reward, or gives None.
OpenReward = Callable[[], AbstractContextManager[ExtraReward | None]]


@dataclass(frozen=True)
class Chain:
    """What one chain made.

    Attributes:
        mutants: the models, in their order.
        refused: how often a draw gave none, by reason.
        reward: what its further reward has seen, a JSON value; None where it had none.
    """

    mutants: Sequence[Mutant]
    refused: Counter[str]
    reward: Any

    def save(self, folder: Path) -> None:
        """Write ``mutants.json``, ``refused.json`` and ``reward.json``."""
        write_json(folder / "mutants.json", [mutant.to_json() for mutant in self.mutants])
        write_json(folder / "refused.json", self.refused)
        write_json(folder / "reward.json", self.reward)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What :meth:`save` wrote."""
        with naming(folder), reading(f"the models in {folder}"):
            mutants = [Mutant.from_json(value) for value in read_json(folder / "mutants.json")]
            refused = Counter(read_json(folder / "refused.json"))
            return cls(mutants, refused, read_json(folder / "reward.json"))


def generate(
    seeds: dict[str, Graph],
    params: GenerateParams,
    seed: int,
    parts: Parts = ALONE,
    reward: OpenReward = nullcontext,
) -> dict[str, Campaign]:
    """Spend the budget once with every strategy, the one in use and those compared with it.

    Args:
        seeds: seed models by name, at least one.
        params: strategies, budget, limits and the number of chains.
        seed: the run's seed.
        parts: who runs the chains.
        reward: opens a further reward for each chain of the strategy in use.
    """
    budgets = {
        strategy: _budgets(strategy, seeds, params)
        for strategy in dict.fromkeys([params.strategy, *params.compared])
    }
    jobs = {
        f"{strategy}-{number}": partial(
            _chain,
            seeds,
            params.model_copy(update={"models": budget}),
            seed,
            strategy,
            number,
            reward if strategy == params.strategy else nullcontext,
        )
        for strategy, shares in budgets.items()
        for number, budget in enumerate(shares)
    }
    chains = iter(parts.gather(jobs, Chain.load))
    return {s: unite(seeds, list(islice(chains, len(shares)))) for s, shares in budgets.items()}


def unite(seeds: dict[str, Graph], chains: Sequence[Chain]) -> Campaign:
    """The chains' models as those of one campaign: first the first of every chain, and so on.

    What a model gained is what it was the first to cover in this order.
    """
    whole = Campaign(coverage=coverage_of(seeds.values()))
    for row in zip_longest(*(chain.mutants for chain in chains)):
        for mutant in filter(None, row):
            whole.add(mutant)
    for chain in chains:
        whole.refused += chain.refused
    whole.rewards = [chain.reward for chain in chains if chain.reward is not None]
    return whole


def _budgets(strategy: str, seeds: dict[str, Graph], params: GenerateParams) -> list[int]:
    """Models for each chain; a strategy whose proposals end is one chain, they would repeat."""
    if STRATEGIES[strategy](seeds, params).limit is not None:
        return [params.models]
    return shares(params.models, min(params.chains, params.models))


def _chain(
    seeds: dict[str, Graph],
    params: GenerateParams,
    seed: int,
    strategy: str,
    number: int,
    reward: OpenReward,
    checkpoint: Checkpoint | None,
) -> Chain:
    with reward() as extra:
        made = campaign(seeds, params, seed, strategy, number, checkpoint, extra)
        seen = None if extra is None else extra.learnt()
    return Chain(made.mutants, made.refused, seen)
