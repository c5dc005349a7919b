"""Quantities of recorded runs: which numbers of which points a claim or a table speaks of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field
from scipy import stats

from asterism.core.parameters.params import ParameterSection
from asterism.reproduction.records import BELOW_ENTRY, RecordedPoint, RecordedRun

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
        low, high: bounds of the 95% interval of the mean (Student's t); None for a single run.
        runs: how many there are.
    """

    mean: float
    low: float | None
    high: float | None
    runs: int

    @property
    def ends(self) -> tuple[float, float]:
        """Bounds of the interval; the mean twice for a single run."""
        if self.low is None or self.high is None:
            return self.mean, self.mean
        return self.low, self.high


def estimate(sample: Sequence[float]) -> Estimate:
    """The mean of runs with its 95% interval.

    Args:
        sample: at least one number.
    """
    values = np.array(sample, np.float64)
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, None, None, len(values))
    error = float(stats.sem(values))
    if error == 0:
        return Estimate(mean, mean, mean, len(values))
    low, high = stats.t.interval(CONFIDENCE, len(values) - 1, loc=mean, scale=error)
    return Estimate(mean, float(low), float(high), len(values))
