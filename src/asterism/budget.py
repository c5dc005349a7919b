"""The time and memory that each stage of the default run may take, beside what it took.

The budgets are the table in ``docs/budgets.md``; each run of a stage leaves what it took in
``logs/<stage>.run.json``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from asterism.core.files.artifacts import read_json
from asterism.core.messages.errors import UserError

#: The table of budgets.
TABLE = Path("docs/budgets.md")

#: A row: stage with its variant, seconds, MB.
_ROW = re.compile(r"^\| `([\w@]+)` \| (\d+) \| (\d+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Stage:
    """One stage.

    Attributes:
        name: as DVC calls it, with its variant.
        seconds: its budget.
        megabytes: its budget of memory, its children's included.
        took: seconds of the last run here; None where there was none.
        held: megabytes of the last run.
    """

    name: str
    seconds: float
    megabytes: float
    took: float | None = None
    held: float | None = None

    @property
    def kept(self) -> bool:
        """Whether the last run, if any, stayed within the budget."""
        return (self.took or 0) <= self.seconds and (self.held or 0) <= self.megabytes


def stages(project: Path) -> list[Stage]:
    """All stages that have a budget, with what the last run here took.

    Raises:
        UserError: there is no table of budgets, or a run's record is damaged.
    """
    path = project / TABLE
    try:
        rows = _ROW.findall(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read the budgets: {error}") from None
    return [_measured(project, Stage(name, float(s), float(m))) for name, s, m in rows]


def _measured(project: Path, stage: Stage) -> Stage:
    path = project / "logs" / f"{stage.name.replace('@', '-')}.run.json"
    if not path.exists():
        return stage
    facts = read_json(path)
    try:
        took = float(facts["seconds"])
        told = facts.get("peak_memory_with_children_mb")  # older records do not have it
        held = None if told is None else float(told)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UserError(f"{path} is no record of a run: delete it") from None
    return Stage(stage.name, stage.seconds, stage.megabytes, took, held)


def table(found: list[Stage]) -> str:
    """What the command prints: a line for each stage, and the sums of seconds."""
    lines = [f"{'stage':26}{'seconds':>9}{'budget':>8}{'MB':>8}{'budget':>8}"]
    for stage in found:
        took = "-" if stage.took is None else f"{stage.took:.1f}"
        held = "-" if stage.held is None else f"{stage.held:.0f}"
        mark = "" if stage.kept else "  over"
        lines.append(
            f"{stage.name:26}{took:>9}{stage.seconds:>8.0f}{held:>8}{stage.megabytes:>8.0f}{mark}"
        )
    total, allowed = sum(s.took or 0 for s in found), sum(s.seconds for s in found)
    lines.append(f"{'all, one after another':26}{total:>9.1f}{allowed:>8.0f}")
    return "\n".join(lines)
