"""Searching a pair of models for triggering inputs by several methods, from the same seeds."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.artifacts import read_arrays, write_arrays, write_json, write_table
from asterism.core.checkpoints import Checkpoint
from asterism.core.console import get_logger
from asterism.core.errors import UserError
from asterism.core.params import validate
from asterism.core.streams import stream
from asterism.dflare import outcome
from asterism.dflare.lockstep import Budget, Subject
from asterism.dflare.minimise import minimise
from asterism.dflare.outcome import Findings
from asterism.dflare.params import SearchParams, TriggerParams
from asterism.dflare.searches import SEARCHES

log = get_logger(__name__)

#: Seeds that are searched together; between shards the findings are saved.
_SHARD = 500


@dataclass(frozen=True)
class Seeds:
    """Where searches start.

    Attributes:
        items: ``(N, ...)``.
        numbers: each one's number in the set that they were drawn from, ascending, int64 ``(N,)``.
    """

    items: NDArray[Any]
    numbers: NDArray[np.int64]


def draw_seeds(items: NDArray[Any], count: int, seed: int) -> Seeds:
    """``count`` different items, drawn at random, in their original order.

    Raises:
        UserError: there are fewer.
    """
    if count > len(items):
        raise UserError(f"trigger.seeds asks for {count} seeds, but there are {len(items)} images")
    chosen = stream(seed, "trigger", "seeds").choice(len(items), count, replace=False)
    numbers = np.sort(chosen).astype(np.int64)
    return Seeds(items[numbers], numbers)


def search_pair(
    params: TriggerParams,
    subject: Subject,
    seeds: Seeds,
    seed: int,
    folder: Path,
    checkpoint: Checkpoint | None = None,
) -> dict[str, Any]:
    """Run every search of ``params.searches``, and save what each finds.

    Args:
        params: the searches and their budget.
        subject: models, domain and comparison.
        seeds: where to start.
        seed: the run's seed.
        folder: gets a folder for each search.
        checkpoint: where finished shards are kept while the stage runs.

    Returns:
        A summary for each search, see :func:`summarise`.
    """
    write_arrays(folder / "seeds.npz", items=seeds.items, numbers=seeds.numbers)
    summaries = {}
    for name, chosen in params.searches.items():
        started = time.perf_counter()
        findings = _search(name, chosen, params, subject, seeds, seed, checkpoint)
        findings.save(folder / name)
        summary = summarise(findings)
        summary |= _distances(findings, subject, seeds, params.minimise_queries, folder / name)
        summaries[name] = summary
        log.info(
            "searched",
            search=name,
            success_rate=summary["success_rate"],
            mean_queries=summary["mean_queries"],
            seconds=round(time.perf_counter() - started, 1),
        )
    if checkpoint is not None:
        checkpoint.discard()
    return summaries


def _search(
    name: str,
    chosen: SearchParams,
    params: TriggerParams,
    subject: Subject,
    seeds: Seeds,
    seed: int,
    checkpoint: Checkpoint | None,
) -> Findings:
    kind = SEARCHES[chosen.search]
    options = validate(kind.Options, chosen.options, source=f"options of {name}")
    budget = Budget(params.queries, params.n_triggers, params.seconds)
    findings = Findings()
    for start in range(0, len(seeds.numbers), _SHARD):
        shard = slice(start, start + _SHARD)
        label = f"{name}-{start}"
        finished = _finished(checkpoint, label)
        if finished is None:
            numbers = seeds.numbers[shard].tolist()
            search = kind(subject, budget, seeds.items[shard], numbers, seed, name, options)
            finished = search.run()
            _keep(checkpoint, label, finished)
        findings.add(finished)
    findings.sort()
    return findings


def _finished(checkpoint: Checkpoint | None, label: str) -> Findings | None:
    state = checkpoint.load() if checkpoint is not None else None
    if state is None or not (state / label).is_dir():
        return None
    return Findings.load(state / label)


def _keep(checkpoint: Checkpoint | None, label: str, findings: Findings) -> None:
    if checkpoint is None:
        return
    state = checkpoint.load()
    earlier = {} if state is None else {f.name: Findings.load(f) for f in state.iterdir()}

    def fill(folder: Path) -> None:
        for name, known in {**earlier, label: findings}.items():
            known.save(folder / name)

    checkpoint.save(fill)


def summarise(findings: Findings) -> dict[str, Any]:
    """Figures of one search, as the paper's tables give them.

    Success rate is over the seeds that were searched, so without those that deviate already.
    Queries are those up to the first triggering input, over the successful seeds.
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
    first: dict[int, int] = {}
    for trigger in findings.triggers:
        first.setdefault(trigger.seed, trigger.queries)
    queries = np.array(sorted(first.values()))
    return {
        "seeds": len(findings.seeds),
        **counts,
        "success_rate": counts[outcome.TRIGGERED] / searched if searched else None,
        "mean_queries": float(queries.mean()) if len(queries) else None,
        "median_queries": float(np.median(queries)) if len(queries) else None,
        "total_queries": sum(record.queries for record in findings.seeds),
        "triggering_inputs": len(findings.triggers),
        "unique_inputs": len({trigger.item.tobytes() for trigger in findings.triggers}),
    }


def _distances(
    findings: Findings, subject: Subject, seeds: Seeds, queries: int, folder: Path
) -> dict[str, Any]:
    """Distances of the triggering inputs to their seeds, and of their minimal versions."""
    if not findings.triggers:
        return {}
    items = np.stack([trigger.item for trigger in findings.triggers])
    owners = [trigger.seed for trigger in findings.triggers]
    references = seeds.items[np.searchsorted(seeds.numbers, owners)]
    versions = {"": items}
    if queries:
        versions["minimal_"] = minimise(subject, items, references, queries)
        answers = subject.pair.ask(versions["minimal_"])
        write_arrays(folder / "minimal.npz", items=versions["minimal_"], f=answers.f, g=answers.g)
    columns: dict[str, Any] = {"seed": owners}
    means = {}
    for prefix, version in versions.items():
        for name, values in subject.domain.distances(version, references).items():
            columns[prefix + name] = values
            means[f"mean_{prefix}{name}"] = float(values.mean())
    write_table(folder / "distances.csv", columns)
    return means


def write_confusion(path: Path, findings: Findings) -> None:
    """How often which label of the original became which label of the compressed model."""
    pairs: dict[tuple[int, int], int] = {}
    for trigger in findings.triggers:
        key = int(trigger.f.argmax()), int(trigger.g.argmax())
        pairs[key] = pairs.get(key, 0) + 1
    rows = sorted(pairs)
    write_table(
        path,
        {
            "original": np.array([f for f, _ in rows], np.int64),
            "compressed": np.array([g for _, g in rows], np.int64),
            "inputs": np.array([pairs[row] for row in rows], np.int64),
        },
    )


def load_seeds(folder: Path) -> Seeds:
    """The seeds that :func:`search_pair` saved."""
    arrays = read_arrays(folder / "seeds.npz")
    return Seeds(arrays["items"], arrays["numbers"])


def write_models(path: Path, models: Iterable[Any]) -> None:
    """What the models' files are and how they are run."""
    facts = [{"name": model.name, "notes": list(model.notes)} for model in models]
    write_json(path, facts)
