"""Generation: independent campaigns, called islands, share the budget, and their models are united.

Algorithm 2 is one island, because every choice depends on the coverage so far. Several islands
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
from asterism.core.messages.errors import name_file_in_errors, reading
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.work_units import ALONE, WorkUnits, split_evenly
from asterism.memo.generating.campaign import GenerationCampaign, Mutant
from asterism.memo.generating.params import GenerateParams
from asterism.memo.generating.strategies import STRATEGIES, ExtraReward, run_campaign
from asterism.memo.graphs.coverage import coverage_of
from asterism.memo.graphs.graph import Graph

#: Opens an island's further reward, or gives None.
OpenReward = Callable[[], AbstractContextManager[ExtraReward | None]]


@dataclass(frozen=True)
class Island:
    """The models of one island.

    Attributes:
        mutants: the models, in their order.
        rejected: how often a draw gave none, by reason.
        reward: what its further reward has seen, a JSON value; None where it had none.
    """

    mutants: Sequence[Mutant]
    rejected: Counter[str]
    reward: Any

    def save(self, folder: Path) -> None:
        """Write ``mutants.json``, ``rejected.json`` and ``reward.json``."""
        write_json(folder / "mutants.json", [mutant.to_json() for mutant in self.mutants])
        write_json(folder / "rejected.json", self.rejected)
        write_json(folder / "reward.json", self.reward)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The island that :meth:`save` wrote."""
        with name_file_in_errors(folder), reading(f"the models in {folder}"):
            mutants = [Mutant.from_json(value) for value in read_json(folder / "mutants.json")]
            rejected = Counter(read_json(folder / "rejected.json"))
            return cls(mutants, rejected, read_json(folder / "reward.json"))


def generate(
    seeds: dict[str, Graph],
    params: GenerateParams,
    seed: int,
    units: WorkUnits = ALONE,
    reward: OpenReward = nullcontext,
) -> dict[str, GenerationCampaign]:
    """Spend the budget once for each strategy: the one in use and those compared with it.

    Args:
        seeds: seed models by name, at least one.
        params: strategies, budget, limits and the number of islands.
        seed: the run's seed.
        units: who runs the islands.
        reward: opens a further reward for each island of the strategy in use.
    """
    budgets = {
        strategy: _budgets(strategy, seeds, params)
        for strategy in dict.fromkeys([params.strategy, *params.compared])
    }
    jobs = {
        f"{strategy}-{number}": partial(
            _island,
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
    islands = iter(units.gather(jobs, Island.load))
    return {
        s: unite_islands(seeds, list(islice(islands, len(shares)))) for s, shares in budgets.items()
    }


def unite_islands(seeds: dict[str, Graph], islands: Sequence[Island]) -> GenerationCampaign:
    """The islands' models as those of one campaign: first the first of every island, and so on.

    What a model gained is what it was the first to cover in this order.
    """
    whole = GenerationCampaign(coverage=coverage_of(seeds.values()))
    for row in zip_longest(*(island.mutants for island in islands)):
        for mutant in filter(None, row):
            whole.add(mutant)
    for island in islands:
        whole.rejected += island.rejected
    whole.rewards = [island.reward for island in islands if island.reward is not None]
    return whole


def _budgets(strategy: str, seeds: dict[str, Graph], params: GenerateParams) -> list[int]:
    """Models for each island; a strategy whose proposals end is one island, they would repeat."""
    if STRATEGIES[strategy](seeds, params).limit is not None:
        return [params.models]
    return split_evenly(params.models, min(params.islands, params.models))


def _island(
    seeds: dict[str, Graph],
    params: GenerateParams,
    seed: int,
    strategy: str,
    number: int,
    reward: OpenReward,
    checkpoint: Checkpoint | None,
) -> Island:
    with reward() as extra:
        made = run_campaign(seeds, params, seed, strategy, number, checkpoint, extra)
        seen = None if extra is None else extra.learnt()
    return Island(made.mutants, made.rejected, seen)
