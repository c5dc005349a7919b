"""What the points of an experiment gave, as a small committed file for each experiment.

A quantity of recorded runs says which numbers of which points a claim or a table speaks of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from pydantic import Field
from scipy import stats

from asterism.config import EntryCondition
from asterism.core.files.artifacts import write_json
from asterism.core.files.records import read_record
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.reproduction.experiments import SCALES, Experiment
from asterism.reproduction.rules import four_digits

#: Where the recorded runs lie in the project.
RECORDED = Path("results/reproduction")

#: How the status of a point begins that misses its experiment's entry condition.
BELOW_ENTRY = "below the entry condition: "


#: Where the bins of histograms begin: 1, 2, 3, 4, 6, 8, 12, …
BINS = (1, *sorted(scale << power for scale in (2, 3) for power in range(20)))


@dataclass(frozen=True)
class RecordedSeries:
    """A curve, or a histogram over ``BINS``.

    Attributes:
        x: where it is known, ascending; a histogram's bins that are not empty.
        y: the numbers there; a histogram's counts.
    """

    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, kw_only=True)
class RecordedPoint:
    """One point of an experiment's sweep.

    Attributes:
        values: its parameters as they were given, by name; no files of the machine.
        status: ``"finished"``, else how it ended; ``"below the entry condition: ..."`` where
            it ended and is not compared.
        metrics: all its numbers, by ``file:path.of.keys``.
        seconds: what its stages took in all when they ran; stages from the cache take none.
        processor_seconds: what its stages took of all cores together when they ran; None where
            this was not recorded.
        processor_seconds_of_searches: what single searches took of them, by ``file:search``.
        memory_mb: the largest peak of a stage with its children; None where no stage ran.
        date: the day when its stages ran, UTC.
        commit: the commit that it started from.
        series: numbers for figures, by name.
    """

    values: dict[str, str]
    status: str
    metrics: dict[str, float]
    seconds: float
    memory_mb: float | None
    date: str
    commit: str
    processor_seconds: float | None = None
    processor_seconds_of_searches: dict[str, float] = field(default_factory=dict)
    series: dict[str, RecordedSeries] = field(default_factory=dict)

    def has(self, where: Mapping[str, str]) -> bool:
        """Whether the point has these parameters, by name."""
        return all(self.values.get(name) == value for name, value in where.items())


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """An experiment at a scale.

    Attributes:
        experiment: its name.
        scale: one of ``SCALES``.
        beside_other_work: whether the machine had other work, so that seconds are no timing.
        machine: what it ran on, in words.
        versions: of the packages that results depend on most.
        points: in their order.
    """

    experiment: str
    scale: str
    beside_other_work: bool
    machine: dict[str, str]
    versions: dict[str, str]
    points: Sequence[RecordedPoint]

    @property
    def seconds(self) -> float:
        """Machine time of all points."""
        return sum(point.seconds for point in self.points)

    @property
    def processor_seconds(self) -> float | None:
        """Processor time of all points; None where one of them does not tell it."""
        told = [point.processor_seconds for point in self.points]
        known = [seconds for seconds in told if seconds is not None]
        return sum(known) if len(known) == len(told) else None

    @property
    def finished(self) -> list[RecordedPoint]:
        """The points that came to their end and meet the experiment's entry condition."""
        return [point for point in self.points if point.status == "finished"]


def path_of(experiment: str, scale: str, folder: Path = RECORDED) -> Path:
    """The file of an experiment at a scale."""
    return folder / f"{experiment}-{scale}.json"


def write_run(run: RecordedRun, folder: Path = RECORDED) -> None:
    """Write an experiment's file; one of the same scale is replaced."""
    write_json(path_of(run.experiment, run.scale, folder), asdict(run))


def read_all_runs(folder: Path = RECORDED) -> list[RecordedRun]:
    """The recorded runs of all experiments at all scales, in the order of their files' names.

    Raises:
        UserError: a file is damaged.
    """
    runs = []
    for path in sorted(folder.glob("*.json")):
        run = read_record(RecordedRun, path)
        if run.scale not in SCALES or path != path_of(run.experiment, run.scale, folder):
            raise UserError(f"{path} is damaged: it describes {run.experiment} at {run.scale}")
        runs.append(run)
    return runs


def largest_runs(recorded: Sequence[RecordedRun]) -> dict[str, RecordedRun]:
    """The run of each experiment; of several, the one of the largest scale."""
    runs: dict[str, RecordedRun] = {}
    for run in recorded:
        known = runs.get(run.experiment)
        if known is None or SCALES.index(known.scale) < SCALES.index(run.scale):
            runs[run.experiment] = run
    return runs


def mark_inadmissible(
    runs: Sequence[RecordedRun], experiments: Mapping[str, Experiment]
) -> list[RecordedRun]:
    """The runs, in which each point that misses its experiment's entry condition says so.

    Args:
        runs: as they were recorded.
        experiments: by name; a run of one that is no longer there has no condition.

    Returns:
        The same runs; the status of such a point is no longer "finished", so that no claim, table
        or figure counts it.
    """
    found = []
    for run in runs:
        known = experiments.get(run.experiment)
        conditions = known.settings.entry if known is not None else []
        found.append(replace(run, points=[_admitted(point, conditions) for point in run.points]))
    return found


def _admitted(point: RecordedPoint, conditions: Sequence[EntryCondition]) -> RecordedPoint:
    for condition in conditions:
        value = point.metrics.get(condition.metric)
        if not point.has(condition.where) or value is None:
            continue
        name = f"{condition.metric.rpartition(':')[2].replace('_', ' ')} is {four_digits(value)}"
        least, most = condition.at_least, condition.at_most
        if least is not None and value < least:
            told = f"{name}, and has to be at least {four_digits(least)}"
        elif most is not None and value > most:
            told = f"{name}, and has to be at most {four_digits(most)}"
        else:
            continue
        return replace(point, status=f"{BELOW_ENTRY}{told}")
    return point


#: The share of intervals that hold the true mean.
CONFIDENCE = 0.95


class Quantity(ParameterSection):
    """A number of each point of an experiment.

    Attributes:
        experiment: whose points.
        value: a metric, ``file:path.of.keys``; ``processor_seconds:file:search`` is what
            a search took, and ``parameter:name`` a parameter of the point.
        over: a metric that it is divided by; None for none.
        minus: a metric that is taken from it; None for none.
        times: a factor, such as 100 for percent.
        where: parameters that the points must have.
    """

    experiment: str
    value: str
    over: str | None = None
    minus: str | None = None
    times: float = 1.0
    where: dict[str, str] = Field(default={})

    @property
    def words(self) -> str:
        """What is counted, as an axis names it."""
        kind, _, rest = self.value.partition(":")
        name = kind if kind == "processor_seconds" else rest.rpartition(".")[2]
        return name.replace("_", " ")

    def named(self, placeholder: str, name: str) -> Quantity:
        """The quantity, where its numbers' names have another name in a placeholder's place."""
        names = {key: getattr(self, key) for key in ("value", "over", "minus")}
        filled = {key: text and text.replace(placeholder, name) for key, text in names.items()}
        return self.model_copy(update=filled)

    def sample(self, runs: Mapping[str, RecordedRun]) -> list[float]:
        """The number of each point that has it; none where the experiment has no run."""
        run = runs.get(self.experiment)
        points = [] if run is None else run.finished
        numbers = [self._of(point) for point in points if point.has(self.where)]
        return [number for number in numbers if number is not None]

    def why_none(self, runs: Mapping[str, RecordedRun]) -> str:
        """Why no point gives a number: what points that were meant miss, or that none has it."""
        run = runs.get(self.experiment)
        missed = [p.status for p in (run.points if run else ()) if p.has(self.where)]
        below = [status for status in missed if status.startswith(BELOW_ENTRY)]
        return below[0] if below else "the runs did not measure it"

    def _of(self, point: RecordedPoint) -> float | None:
        value, over, minus = (_number(point, name) for name in (self.value, self.over, self.minus))
        if value is None or (self.over and not over) or (self.minus and minus is None):
            return None
        return self.times * (value - (minus or 0.0)) / (over or 1.0)


def _number(point: RecordedPoint, name: str | None) -> float | None:
    if name is None:
        return None
    kind, _, rest = name.partition(":")
    if kind == "processor_seconds":
        return point.processor_seconds_of_searches.get(rest)
    if kind == "parameter":
        return float(point.values[rest]) if rest in point.values else None
    return point.metrics.get(name)


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval.

    Attributes:
        mean: of the runs.
        low, high: bounds of the 95% interval of the mean (Student's t), which a single run does
            not tell: both are the mean.
        runs: how many there are.
    """

    mean: float
    low: float
    high: float
    runs: int


def estimate(sample: Sequence[float]) -> Estimate:
    """The mean of runs with its 95% interval.

    Args:
        sample: at least one number.
    """
    values = np.array(sample, np.float64)
    mean = float(values.mean())
    error = float(stats.sem(values)) if len(values) > 1 else 0.0
    if error == 0:
        return Estimate(mean, mean, mean, len(values))
    low, high = stats.t.interval(CONFIDENCE, len(values) - 1, loc=mean, scale=error)
    return Estimate(mean, float(low), float(high), len(values))
