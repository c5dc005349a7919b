"""Searching a pair for triggering inputs near ordinary ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import replacing, write_arrays, write_json
from asterism.core.resuming.work_units import ALONE, WorkUnits
from asterism.dflare.comparisons import ProbabilisticComparison
from asterism.dflare.lockstep import PairUnderTest, SeedBudget
from asterism.dflare.outcome import SearchResult, Trigger
from asterism.dflare.trigger import SearchSeeds, save_search_results, search_pair
from asterism.vetting.opening import VettingSession, draw_rows


def search_opened(
    vetted: VettingSession, seed: int, folder: Path, units: WorkUnits = ALONE
) -> dict[str, Any]:
    """Search a pair by every search of ``params.search``, and order what they find.

    Args:
        vetted: the pair and the searches.
        seed: the run's seed.
        folder: replaced by what each search found, and by ``triggers.npz`` (``items``,
            ``references``: the seeds; ``f``, ``g``: the answers; ``right``, ``wrong``: how sure
            the models are; the most consequential first).
        units: who searches each group of seeds.

    Returns:
        A summary for each search.
    """
    params = vetted.params
    with replacing(folder) as temporary:
        rows = np.arange(len(vetted.inputs.items))
        seeds, found = _search(vetted, rows, params.search.seeds, seed, units)
        domain = vetted.domain(params.search.operators)
        summaries = save_search_results(found, seeds, domain, temporary)
        triggers = [trigger for findings in found.values() for trigger in findings.triggers]
        write_arrays(temporary / "triggers.npz", **_ordered(vetted, seeds, triggers))
        write_json(temporary / "summary.json", summaries)
    return summaries


def search_rows(
    vetted: VettingSession, rows: NDArray[np.int64], most: int, seed: int
) -> dict[str, SearchResult]:
    """Search a pair from some of the given inputs; seeds have those inputs' row numbers.

    Args:
        vetted: the pair and the searches.
        rows: the rows of the given inputs, int64.
        most: how many of them are seeds at most.
        seed: the seed of everything that is random.

    Returns:
        What each search found, by its name.
    """
    return _search(vetted, rows, most, seed, ALONE)[1]


def _search(
    vetted: VettingSession, rows: NDArray[np.int64], most: int, seed: int, units: WorkUnits
) -> tuple[SearchSeeds, dict[str, SearchResult]]:
    settings, items = vetted.params.search, vetted.inputs.items
    chosen = draw_rows(rows, most, len(items), seed, "seeds")
    seeds = SearchSeeds(items[chosen], chosen)
    under_test = PairUnderTest(
        vetted.pair,
        vetted.domain(settings.operators),
        vetted.comparison,
        settings.bound,
        labels=vetted.inputs.labels,
    )
    budget = SeedBudget(settings.queries)
    return seeds, search_pair(settings.searches, under_test, seeds, budget, seed, units)


def _ordered(
    vetted: VettingSession, seeds: SearchSeeds, triggers: list[Trigger]
) -> dict[str, NDArray[Any]]:
    """Triggering inputs as arrays, the most consequential first."""
    if not triggers:
        return {"items": seeds.items[:0]}
    f, g = (np.stack([getattr(trigger, name) for trigger in triggers]) for name in "fg")
    numbers = np.array([trigger.seed for trigger in triggers], np.int64)
    right, wrong = _sureness(vetted, f, g, numbers)
    order = np.argsort(-np.minimum(right, wrong), kind="stable")
    return {
        "items": np.stack([trigger.item for trigger in triggers])[order],
        "references": seeds.of(numbers[order].tolist()),
        "seeds": numbers[order],
        "f": f[order],
        "g": g[order],
        "right": right[order],
        "wrong": wrong[order],
    }


def _sureness(
    vetted: VettingSession,
    f: NDArray[np.float32],
    g: NDArray[np.float32],
    numbers: NDArray[np.int64],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How sure the original is of the right answer, and the compressed model of a wrong one.

    Without labels the original's own answer counts as right. For outputs without answers both are
    the distance of the outputs.
    """
    comparison = vetted.comparison
    if not isinstance(comparison, ProbabilisticComparison):
        distance = comparison.distance(f, g)
        return distance, distance
    labels = vetted.inputs.labels
    expected = comparison.answers(f) if labels is None else labels[numbers][:, np.newaxis]
    return comparison.sureness(*vetted.comparison.chances(f, g), expected)
