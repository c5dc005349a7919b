"""Searching a pair of models for triggering inputs by several methods, from the same seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays, write_arrays, write_json, write_table
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError, prefix_errors, reading
from asterism.core.random_streams import stream
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.work_units import ALONE, WorkUnits
from asterism.core.running.footprint import processor_seconds
from asterism.dflare import outcome
from asterism.dflare.domains import Domain
from asterism.dflare.lockstep import LockstepSearch, PairUnderTest, SearchTask, SeedBudget
from asterism.dflare.minimise import minimise
from asterism.dflare.outcome import SearchResult, Trigger
from asterism.dflare.pair import PairedOutputs
from asterism.dflare.params import SearchParams, TriggerParams
from asterism.dflare.searches import SEARCHES, search_options

log = get_logger(__name__)

#: Seeds that are searched together: a part of the work.
_GROUP = 500


@dataclass(frozen=True)
class SearchSeeds:
    """The inputs from which searches start.

    Attributes:
        items: ``(N, ...)``.
        numbers: each one's number in the set that they were drawn from, ascending, int64 ``(N,)``.
    """

    items: NDArray[Any]
    numbers: NDArray[np.int64]

    def in_groups(self, size: int) -> list[SearchSeeds]:
        """The seeds in order, in groups of a given size."""
        starts = range(0, len(self.numbers), size)
        return [SearchSeeds(self.items[s : s + size], self.numbers[s : s + size]) for s in starts]

    def of(self, numbers: Sequence[int]) -> NDArray[Any]:
        """The items with these numbers, which may repeat."""
        return self.items[np.searchsorted(self.numbers, numbers)]


def draw_seeds(items: NDArray[Any], count: int, seed: int) -> SearchSeeds:
    """``count`` different items, drawn at random, in their original order.

    Raises:
        UserError: there are fewer.
    """
    if count > len(items):
        raise UserError(f"trigger.seeds asks for {count} seeds, but there are {len(items)} inputs")
    chosen = stream(seed, "trigger", "seeds").choice(len(items), count, replace=False)
    numbers = np.sort(chosen).astype(np.int64)
    return SearchSeeds(items[numbers], numbers)


def build_seed_budget(params: TriggerParams) -> SeedBudget:
    """The limits after which the search lane stops on a seed."""
    return SeedBudget(params.queries, params.n_triggers, params.seconds)


def search_pair(
    searches: Mapping[str, SearchParams],
    under_test: PairUnderTest,
    seeds: SearchSeeds,
    budget: SeedBudget,
    seed: int,
    units: WorkUnits = ALONE,
    minimise_queries: int = 0,
) -> dict[str, SearchResult]:
    """Run several searches.

    Args:
        searches: by their names.
        under_test: models, domain, comparison and bound.
        seeds: where to start.
        budget: when to stop on a seed.
        seed: the run's seed.
        units: who searches each group of seeds.
        minimise_queries: reversions to try on each triggering input; 0: none is made minimal.

    Returns:
        What each search found.
    """
    groups = seeds.in_groups(_GROUP)
    jobs = {
        f"{name}-{number}": partial(
            _search,
            SearchTask(name, under_test, budget, group.items, group.numbers.tolist(), seed),
            chosen,
            minimise_queries,
        )
        for name, chosen in searches.items()
        for number, group in enumerate(groups)
    }
    found = iter(units.gather(jobs, SearchResult.load))
    return {name: SearchResult.merged(list(islice(found, len(groups)))) for name in searches}


def save_search_results(
    found: Mapping[str, SearchResult], seeds: SearchSeeds, domain: Domain, folder: Path
) -> dict[str, Any]:
    """Save the seeds and what each search found from them.

    Args:
        found: findings, by the search.
        seeds: where the searches started.
        domain: what the inputs are.
        folder: gets a folder for each search.

    Returns:
        A summary for each search, see :func:`summarise`.
    """
    write_arrays(folder / "seeds.npz", items=seeds.items, numbers=seeds.numbers)
    summaries = {}
    for name, findings in found.items():
        findings.save(folder / name)
        distances = _distances(findings, domain, seeds, folder / name)
        summaries[name] = summarise(findings) | distances
    return summaries


def _search(
    task: SearchTask, chosen: SearchParams, minimise_queries: int, _checkpoint: Checkpoint | None
) -> SearchResult:
    """One search from one group of seeds; it is short, so no state of it is kept."""
    taken = processor_seconds()
    with prefix_errors(f"trigger.searches.{task.name}"):
        search = SEARCHES[chosen.search](task, search_options(chosen))
    findings = search.run()
    if minimise_queries and findings.triggers:
        findings.minimal = _minimal(search, findings.triggers, minimise_queries)
    log.info(
        "searched",
        search=task.name,
        seeds=len(task.items),
        triggering_inputs=len(findings.triggers),
        processor_seconds=round(processor_seconds() - taken, 2),
    )
    return findings


def _minimal(
    search: LockstepSearch[Any], triggers: Sequence[Trigger], queries: int
) -> list[Trigger]:
    """The triggering inputs with fewer changes, and what the models say to these."""
    items = np.stack([trigger.item for trigger in triggers])
    references = search.items[search.trajectories_of(triggers)]

    def holds(answers: PairedOutputs, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        return search.shows([triggers[row] for row in rows.tolist()], answers)

    minimal = minimise(search.under_test, items, references, queries, holds)
    answers = search.under_test.pair.ask(minimal)
    return [
        replace(trigger, item=item, f=f, g=g)
        for trigger, item, f, g in zip(triggers, minimal, answers.f, answers.g, strict=True)
    ]


def summarise(findings: SearchResult) -> dict[str, Any]:
    """Figures of one search, as the paper's tables give them.

    Success rate is over the seeds that were searched, so without those that deviate already.
    Queries are those up to the first triggering input, over the successful seeds; where the search
    looks for consequential ones, those up to the first of these too.
    """
    counts = {
        how: sum(record.outcome == how for record in findings.seeds)
        for how in (
            outcome.TRIGGERED,
            outcome.EXHAUSTED,
            outcome.OUT_OF_TIME,
            outcome.DEVIATES_ALREADY,
            outcome.FAILED,
        )
    }
    searched = len(findings.seeds) - counts[outcome.DEVIATES_ALREADY]
    queries = _first_queries(findings.triggers)
    consequential = {}
    if any(trigger.consequential is not None for trigger in findings.triggers):
        those = _first_queries([t for t in findings.triggers if t.consequential])
        consequential = {
            "consequential": len(those),
            "consequential_rate": len(those) / searched if searched else None,
            "mean_queries_consequential": float(those.mean()) if len(those) else None,
            "median_queries_consequential": float(np.median(those)) if len(those) else None,
        }
    return {
        "seeds": len(findings.seeds),
        **counts,
        "success_rate": counts[outcome.TRIGGERED] / searched if searched else None,
        "mean_queries": float(queries.mean()) if len(queries) else None,
        "median_queries": float(np.median(queries)) if len(queries) else None,
        "total_queries": sum(record.queries for record in findings.seeds),
        "triggering_inputs": len(findings.triggers),
        "unique_inputs": len({trigger.item.tobytes() for trigger in findings.triggers}),
        **consequential,
    }


def _first_queries(triggers: Sequence[Trigger]) -> NDArray[np.int64]:
    """The queries up to each seed's first of these, in ascending order, int64."""
    first: dict[int, int] = {}
    for trigger in triggers:
        first.setdefault(trigger.seed, trigger.queries)
    return np.array(sorted(first.values()), np.int64)


def _distances(
    findings: SearchResult, domain: Domain, seeds: SearchSeeds, folder: Path
) -> dict[str, Any]:
    """Distances of the triggering inputs to their seeds, and of their minimal versions."""
    if not findings.triggers:
        return {}
    owners = [trigger.seed for trigger in findings.triggers]
    references = seeds.of(owners)
    columns: dict[str, Any] = {"seed": owners}
    means = {}
    for prefix, version in (("", findings.triggers), ("minimal_", findings.minimal)):
        if not version:
            continue
        items = np.stack([trigger.item for trigger in version])
        for name in domain.measures:
            values = domain.distance(items, references, name)
            columns[prefix + name] = values
            means[f"mean_{prefix}{name}"] = float(values.mean())
    write_table(folder / "distances.csv", columns)
    return means


def write_confusion(path: Path, findings: SearchResult) -> None:
    """Write how often each label of the original became each label of the compressed model."""
    pairs = Counter((int(t.f.argmax()), int(t.g.argmax())) for t in findings.triggers)
    rows = np.array(
        [(*labels, count) for labels, count in sorted(pairs.items())], np.int64
    ).reshape(-1, 3)
    write_table(path, dict(zip(("original", "compressed", "inputs"), rows.T, strict=True)))


def load_seeds(folder: Path) -> SearchSeeds:
    """The seeds that :func:`save_search_results` saved."""
    with reading(f"the seeds in {folder}"):
        arrays = read_arrays(folder / "seeds.npz")
        return SearchSeeds(arrays["items"], arrays["numbers"])


def write_model_sizes(path: Path, models: Iterable[tuple[Path, Any]]) -> None:
    """Write names, sizes and notes of the models' files."""
    facts = [
        {"name": model.name, "bytes": file.stat().st_size, "notes": list(model.notes)}
        for file, model in models
    ]
    write_json(path, facts)
