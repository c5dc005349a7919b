"""Fuzzing: independent campaigns, called islands, share the budget, and their findings are united.

Each island has random streams of its own, so islands may be run one after
another, side by side or on several machines: their union is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import get_logger
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.work_units import ALONE, WorkUnits, split_evenly
from asterism.deepstellar.fuzzing.campaign import FuzzingCampaign, unguided_mutants
from asterism.deepstellar.fuzzing.population import (
    Crashes,
    FirstVisits,
    GrowingTable,
    Population,
    SeedQueue,
)
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.params import FuzzParams
from asterism.deepstellar.seeds import SeedInputs
from asterism.models.recurrent import RecurrentModel

log = get_logger(__name__)

#: Moments of an island, in mutants run there, as the union counts them.
Moment = Callable[[NDArray[np.int64]], NDArray[np.int64]]


def fuzz(
    network: RecurrentModel,
    model: TraceModel,
    seeds: SeedInputs,
    params: FuzzParams,
    criterion: str,
    seed: int,
    units: WorkUnits = ALONE,
) -> Population:
    """Search for mutants that reach new states or change the prediction.

    Args:
        network: the network under test.
        model: its Markov chain.
        seeds: correctly classified inputs.
        params: how to fuzz.
        criterion: what guides the search, one of ``params.criteria``.
        seed: the run's seed.
        units: who computes the islands.

    Returns:
        What was found. It depends on the arguments other than ``units``, not on threads, speed or
        interruptions.
    """
    budgets = split_evenly(params.mutants, params.islands)
    if criterion != "none" and max(budgets) <= unguided_mutants(params):
        log.warning(
            "the budget ends before guidance begins: raise fuzz.mutants",
            now=params.mutants,
            well_above=unguided_mutants(params) * params.islands,
        )

    def run(island: int, budget: int, checkpoint: Checkpoint | None) -> Population:
        campaign = FuzzingCampaign(network, model, seeds, params, criterion, seed, island, budget)
        return campaign.run(checkpoint)

    jobs = {
        f"island-{island}": partial(run, island, budget) for island, budget in enumerate(budgets)
    }
    return unite_islands(units.gather(jobs, Population.load), len(seeds))


def unite_islands(islands: Sequence[Population], seeds: int) -> Population:
    """The findings of all islands as those of one campaign, in the order of the islands.

    In the merged result, ``found`` counts mutants of all islands: an island's count is multiplied
    by the number of islands, and is at most the number of all mutants. Of crashes with equal images
    the first found is kept.

    Args:
        islands: campaigns that began with the same seeds.
        seeds: number of seeds, the first entries of every queue.
    """
    if len(islands) == 1:
        return islands[0]
    run = sum(island.run for island in islands)

    def moment(found: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum(found * len(islands), run)

    rows, crashes, added = [], [], 0
    for island in islands:
        rows.append(_renumbered(island.queue.rows, seeds, added, moment))
        crashes.append(_renumbered(island.crashes.rows, seeds, added, moment))
        added += len(island.queue) - seeds
    own = [{name: column[seeds:] for name, column in queue.items()} for queue in rows]
    first = {name: column[:seeds] for name, column in rows[0].items()}
    first["chosen"] = np.sum([queue["chosen"][:seeds] for queue in rows], axis=0)
    pooled = _joined(crashes)
    order = np.argsort(pooled["found"], kind="stable")
    visits = {
        name: _earliest([island.visits.found[name] for island in islands], moment)
        for name in islands[0].visits.found
    }
    united = Population(
        SeedQueue(GrowingTable(_joined([first, *own]))),
        Crashes.none_yet(islands[0].crashes.rows["images"]),
        FirstVisits(visits),
        run,
    )
    united.crashes.add({name: column[order] for name, column in pooled.items()})
    return united


def _renumbered(
    rows: GrowingTable, seeds: int, added: int, moment: Moment
) -> dict[str, NDArray[Any]]:
    """Rows with parents and moments as the union counts them."""
    columns = rows.arrays()
    parent = columns["parent"]
    return columns | {
        "parent": np.where(parent < seeds, parent, parent + added),
        "found": moment(columns["found"]),
    }


def _joined(tables: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def _earliest(found: Sequence[NDArray[np.int64]], moment: Moment) -> NDArray[np.int64]:
    """Moments of first visits in any island, -1 for never."""
    never = np.iinfo(np.int64).max
    earliest = np.min([np.where(f < 0, never, moment(f)) for f in found], axis=0)
    return np.where(earliest == never, -1, earliest)
