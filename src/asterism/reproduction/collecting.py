"""From the points of a sweep to the recorded run of an experiment."""

from __future__ import annotations

import json
import platform
from bisect import bisect_right
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import psutil

from asterism.config import SeriesParams
from asterism.core.files.artifacts import read_json, read_table
from asterism.core.files.records import read_record
from asterism.core.messages.errors import UserError, reading
from asterism.core.settings import machine
from asterism.reproduction.experiments import Experiment
from asterism.reproduction.records import BINS, RecordedPoint, RecordedRun, RecordedSeries, path_of
from asterism.sweep.point import KEPT, PointRecord
from asterism.sweep.points import split_overrides

#: Packages whose versions results depend on most.
_PACKAGES = (
    "ai-edge-litert", "dvc", "hydra-core", "keras", "numpy", "onnxruntime", "scikit-learn", "scipy",
    "tensorflow", "torch",
)  # fmt: skip


#: Points of a curve that are recorded at most.
_MOST_POINTS = 24


def collect_run(
    project: Path, experiment: Experiment, scale: str, beside_other_work: bool, results: Path
) -> RecordedRun:
    """What a sweep has left of an experiment.

    A point none of whose stages ran this time, because all came from the cache, keeps the
    seconds, memory, day and commit that were recorded when they ran.

    Args:
        project: root of the project; the sweep is in its ``sweeps/``.
        experiment: the experiment.
        scale: its scale.
        beside_other_work: whether the machine had other work.
        results: folder of the recorded runs, with the one before this.

    Raises:
        UserError: a record is missing or damaged.
    """
    before: dict[tuple[tuple[str, str], ...], RecordedPoint] = {}
    path = path_of(experiment.name, scale, results)
    known = read_record(RecordedRun, path) if path.exists() else None
    if known is not None:
        before = {tuple(sorted(point.values.items())): point for point in known.points}
    points, ran = [], False
    for folder in sorted((project / "sweeps" / experiment.sweep_name(scale) / "points").glob("*/")):
        record = read_record(PointRecord, folder / "record.json")
        values = {
            name: value
            for name, value in split_overrides(record.overrides).items()
            if name != "experiment" and name not in experiment.models
        }
        earlier = before.get(tuple(sorted(values.items())))
        fresh = bool(record.ran) or earlier is None
        ran = ran or fresh
        measured = _measured(folder, record) if fresh or earlier is None else earlier
        metrics = {
            name: float(f"{value:.9g}")
            for name, value in sorted(record.metrics.items())
            if any(fnmatchcase(name, wanted) for wanted in experiment.settings.metrics)
        }
        series = _series(folder / KEPT, experiment) if record.status == "finished" else {}
        points.append(
            replace(measured, values=values, status=record.status, metrics=metrics, series=series)
        )
    if known is not None and not ran:
        return replace(known, points=points)
    return RecordedRun(
        experiment=experiment.name,
        scale=scale,
        beside_other_work=beside_other_work,
        machine=machine_facts(),
        versions=_versions(),
        points=points,
    )


def _series(kept: Path, experiment: Experiment) -> dict[str, RecordedSeries]:
    """The series of the tables that this point has: another may have searched less."""
    return {
        name: read_series(kept, settings)
        for name, settings in experiment.settings.series.items()
        if (kept / settings.file).exists()
    }


def _measured(folder: Path, record: PointRecord) -> RecordedPoint:
    """What a point's running took; its values and metrics are left empty."""
    stages = [read_json(path) for path in sorted((folder / "logs").glob("*.run.json"))]
    peaks = [float(facts["peak_memory_with_children_mb"]) for facts in stages]
    processor = [facts.get("processor_seconds") for facts in stages]
    return RecordedPoint(
        values={},
        status=record.status,
        metrics={},
        seconds=float(record.seconds),
        memory_mb=max(peaks, default=None),
        date=datetime.now(UTC).date().isoformat(),
        commit=record.revision[:10],
        processor_seconds=None if None in processor else round(sum(processor), 3),
        processor_seconds_of_searches=_seconds_of_searches(folder / "logs"),
    )


def _seconds_of_searches(logs: Path) -> dict[str, float]:
    """Processor time of each search, over all groups of its seeds, as the stages' logs say it."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for path in sorted(logs.glob("*.jsonl")):
        with reading(f"the log {path}"):
            events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            for event in events:
                if event.get("event") == "searched":
                    seconds[f"{path.stem}:{event['search']}"] += float(event["processor_seconds"])
    return dict(seconds)


def machine_facts() -> dict[str, str]:
    """System, processor, cores and memory of this machine."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": machine.processor_name(),
        "cores": str(machine.available_threads()),
        "memory": f"{psutil.virtual_memory().total / 1e9:.0f} GB",
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def read_series(folder: Path, settings: SeriesParams) -> RecordedSeries:
    """A series of a point.

    Args:
        folder: what is kept of the point's workspace.
        settings: which table, rows and columns.

    Raises:
        UserError: the table or a column is missing, or a number is not one.
    """
    path = folder / settings.file
    rows = read_table(path).to_dicts()
    wanted = [settings.column, *([] if settings.over is None else [settings.over])]
    for column in [*wanted, *settings.where]:
        if rows and column not in rows[0]:
            raise UserError(f"{path} has no column {column!r} (it has: {', '.join(rows[0])})")
    held = [r for r in rows if all(str(r[name]) == v for name, v in settings.where.items())]
    try:
        numbers = np.array([[float(row[name]) for name in wanted] for row in held])
    except (TypeError, ValueError):
        raise UserError(f"{path} holds values other than numbers in {wanted}") from None
    if not held:
        return RecordedSeries((), ())
    return _histogram(numbers[:, 0]) if settings.over is None else _curve(numbers)


def _histogram(values: np.ndarray) -> RecordedSeries:
    counts = Counter(BINS[max(bisect_right(BINS, value) - 1, 0)] for value in values)
    bins = sorted(counts)
    return RecordedSeries(bins, [counts[b] for b in bins])


def _curve(numbers: np.ndarray) -> RecordedSeries:
    """At most so many points, evenly apart, the first and the last among them."""
    kept = np.unique(np.linspace(0, len(numbers) - 1, _MOST_POINTS).round().astype(int))
    x, y = numbers[kept, 1], numbers[kept, 0]
    return RecordedSeries([_short(v) for v in x], [_short(v) for v in y])


def _short(value: float) -> float:
    return float(f"{value:.5g}")
