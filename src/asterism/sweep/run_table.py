"""A run's stages in a table: how each came about, its seconds and its memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from asterism.core.files.artifacts import read_json
from asterism.core.messages.errors import UserError
from asterism.sweep.live_lines import label_of
from asterism.sweep.plan import PlannedStage


def run_table(
    root: Path, plan: Sequence[PlannedStage], stale: Sequence[PlannedStage], ran: Collection[str]
) -> list[str]:
    """A line for each stage that was not up to date, and one for the rest.

    Args:
        root: the workspace; ``logs/`` there has what each stage took.
        plan: all stages of the run.
        stale: those that were not up to date.
        ran: names of those whose command ran; the others came from the cache.
    """
    lines = [f"{'stage':26}{'':12}{'seconds':>9}{'MB':>8}"]
    total = 0.0
    for stage in stale:
        how = "ran" if stage.name in ran else "from cache"
        seconds, megabytes = _taken(root, stage.name) if stage.name in ran else (None, None)
        total += seconds or 0.0
        lines.append(f"{stage.name:26}{how:12}{_cell(seconds, 1):>9}{_cell(megabytes, 0):>8}")
    kept = len(plan) - len(stale)
    if kept:
        lines.append(f"{kept} more stages were up to date")
    return [*lines, f"{'all, one after another':38}{total:>9.1f}"]


def _taken(root: Path, stage: str) -> tuple[float | None, float | None]:
    """Seconds and megabytes of a stage's last run; None where its record does not say."""
    path = root / "logs" / f"{label_of(stage)}.run.json"
    with suppress(UserError, OSError, AttributeError, KeyError, TypeError, ValueError):
        facts = read_json(path)
        return float(facts["seconds"]), float(facts["peak_memory_with_children_mb"])
    return None, None


def _cell(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
