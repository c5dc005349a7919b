"""The time and memory that the default run and its stages may take, beside what they took.

The budgets are the tables in ``docs/budgets.md``; each run of a stage leaves what it took in
``logs/<stage>.run.json``, and ``asterism repro`` in ``logs/repro.run.json``.
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

#: What the record of ``asterism repro`` is called, and the row of the budget of a whole run.
RUN_LABEL = "repro"
_WHOLE = re.compile(r"^\| the whole run \| (\d+) \| (\d+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class StageCost:
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


def stages(project: Path) -> list[StageCost]:
    """All stages that have a budget, with what the last run here took.

    Raises:
        UserError: there is no table of budgets, or a run's record is damaged.
    """
    rows = _ROW.findall(_tables(project))
    return [_measured(project, StageCost(name, float(s), float(m))) for name, s, m in rows]


def whole_run(project: Path) -> StageCost:
    """The budget of a run of all stages, with what such a run took, if it was the last one here.

    Raises:
        UserError: there is no such budget, or the run's record is damaged.
    """
    found = _WHOLE.search(_tables(project))
    if found is None:
        raise UserError(f"{project / TABLE} has no budget of the whole run")
    budget = StageCost(RUN_LABEL, float(found[1]), float(found[2]))
    path = _record_of(project, budget)
    if path.exists() and read_json(path).get("stages") != len(stages(project)):
        return budget
    return _measured(project, budget)


def _tables(project: Path) -> str:
    try:
        return (project / TABLE).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read the budgets: {error}") from None


def _record_of(project: Path, stage: StageCost) -> Path:
    return project / "logs" / f"{stage.name.replace('@', '-')}.run.json"


def _measured(project: Path, stage: StageCost) -> StageCost:
    path = _record_of(project, stage)
    if not path.exists():
        return stage
    facts = read_json(path)
    try:
        took = float(facts["seconds"])
        told = facts.get("peak_memory_with_children_mb")  # older records do not have it
        held = None if told is None else float(told)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UserError(f"{path} is no record of a run: delete it") from None
    return StageCost(stage.name, stage.seconds, stage.megabytes, took, held)


def table(found: list[StageCost], run: StageCost) -> list[str]:
    """What the command prints: a line for each stage, the sums of seconds, and the whole run."""
    lines = [f"{'stage':26}{'seconds':>9}{'budget':>8}{'MB':>8}{'budget':>8}"]
    lines += [_line(stage.name, stage) for stage in found]
    total, allowed = sum(s.took or 0 for s in found), sum(s.seconds for s in found)
    lines.append(f"{'all, one after another':26}{total:>9.1f}{allowed:>8.0f}")
    return [*lines, _line("the whole run", run)]


def _line(name: str, stage: StageCost) -> str:
    took = "-" if stage.took is None else f"{stage.took:.1f}"
    held = "-" if stage.held is None else f"{stage.held:.0f}"
    mark = "" if stage.kept else "  over"
    return f"{name:26}{took:>9}{stage.seconds:>8.0f}{held:>8}{stage.megabytes:>8.0f}{mark}"
