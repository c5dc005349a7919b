"""Entry conditions: which points of an experiment are compared with a paper at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from asterism.config import EntryCondition
from asterism.reproduction.experiments import Experiment
from asterism.reproduction.records import BELOW_ENTRY, RecordedPoint, RecordedRun
from asterism.reproduction.rules import number


def admitted(
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
        if point.has(condition.where) and value is not None and value < condition.at_least:
            name = condition.metric.rpartition(":")[2].replace("_", " ")
            told = f"{name} is {number(value)}, and has to be {number(condition.at_least)}"
            return replace(point, status=f"{BELOW_ENTRY}{told}")
    return point
