"""The time and memory that the default run and its stages may take, and what they took.

The budgets are the tables in ``docs/budgets.md``; each run of a stage leaves what it took in
``logs/<stage>.run.json``, and ``asterism repro`` in ``logs/repro.run.json``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
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


def stage_costs(project: Path) -> list[StageCost]:
    """All stages that have a budget, with what the last run here took.

    Raises:
        UserError: there is no table of budgets, or a run's record is damaged.
    """
    rows = _ROW.findall(_tables(project))
    return [StageCost(name, float(s), float(m), *_taken(project, name)) for name, s, m in rows]


def whole_run_cost(project: Path) -> StageCost:
    """The budget of a run of all stages, with what such a run took, if it was the last one here.

    Raises:
        UserError: there is no such budget, or the run's record is damaged.
    """
    found = _WHOLE.search(_tables(project))
    if found is None:
        raise UserError(f"{project / TABLE} has no budget of the whole run")
    path = _record_of(project, RUN_LABEL)
    is_other = path.exists() and read_json(path).get("stages") != len(stage_costs(project))
    taken = (None, None) if is_other else _taken(project, RUN_LABEL)
    return StageCost(RUN_LABEL, float(found[1]), float(found[2]), *taken)


def _tables(project: Path) -> str:
    try:
        return (project / TABLE).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read the budgets: {error}") from None


def label_of(stage: str) -> str:
    """What a stage's log and record are called: ``fuzz-state`` for ``fuzz@state``."""
    return stage.replace("@", "-")


def _record_of(project: Path, stage: str) -> Path:
    return project / "logs" / f"{label_of(stage)}.run.json"


def _taken(project: Path, stage: str) -> tuple[float | None, float | None]:
    """Seconds and megabytes of a stage's last run; None where it has left no record of them."""
    path = _record_of(project, stage)
    if not path.exists():
        return None, None
    facts = read_json(path)
    try:
        held = facts.get("peak_memory_with_children_mb")  # older records do not have it
        return float(facts["seconds"]), None if held is None else float(held)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UserError(f"{path} is no record of a run: delete it") from None


def budget_table(found: list[StageCost], run: StageCost) -> list[str]:
    """What the command prints: a line for each stage, the sums of seconds, and the whole run."""
    lines = [f"{'stage':26}{'seconds':>9}{'budget':>8}{'MB':>8}{'budget':>8}"]
    lines += [_line(stage.name, stage) for stage in found]
    total, allowed = sum(s.took or 0 for s in found), sum(s.seconds for s in found)
    lines.append(f"{'all, one after another':26}{total:>9.1f}{allowed:>8.0f}")
    return [*lines, _line("the whole run", run)]


def run_table(root: Path, stale: Iterable[str], ran: Collection[str], up_to_date: int) -> list[str]:
    """A line for each stage that was not up to date, and one for the rest.

    Args:
        root: the workspace; ``logs/`` there has what each stage took.
        stale: names of the stages that were not up to date.
        ran: names of those whose command ran; the others came from the cache.
        up_to_date: how many stages there are besides.
    """
    lines = [f"{'stage':26}{'':12}{'seconds':>9}{'MB':>8}"]
    total = 0.0
    for stage in stale:
        how = "ran" if stage in ran else "from cache"
        seconds = megabytes = None
        if stage in ran:
            with suppress(UserError):
                seconds, megabytes = _taken(root, stage)
        total += seconds or 0.0
        lines.append(f"{stage:26}{how:12}{_cell(seconds, 1):>9}{_cell(megabytes, 0):>8}")
    if up_to_date:
        lines.append(f"{up_to_date} more stages were up to date")
    return [*lines, f"{'all, one after another':38}{total:>9.1f}"]


def _cell(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _line(name: str, stage: StageCost) -> str:
    took, held = _cell(stage.took, 1), _cell(stage.held, 0)
    mark = "" if stage.kept else "  over"
    return f"{name:26}{took:>9}{stage.seconds:>8.0f}{held:>8}{stage.megabytes:>8.0f}{mark}"
