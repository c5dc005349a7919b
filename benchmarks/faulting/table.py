"""The outcomes so far, in a file that a later call goes on with, and the table made of them."""

from __future__ import annotations

import json
import os
import platform
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from faulting.disturbances import DISTURBANCES
from faulting.trial import Outcome


@dataclass(frozen=True)
class Cell:
    """One disturbance of one target.

    Attributes:
        version: of the code, see :func:`~faulting.projects.code_version`.
        target: the row.
        fault: the column.
        seed: moments and choices are drawn from it.
    """

    version: str
    target: str
    fault: str
    seed: int


@dataclass
class Found:
    """What there is of a cell.

    Attributes:
        outcomes: of the disturbances so far.
        commit: at which the last of them was run.
        reason: why there are none, where the machine or the target allows none.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    commit: str = ""
    reason: str = ""


class Results:
    """Outcomes in a file, one a line of JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, cell: Cell, commit: str, outcome: Outcome | None, reason: str = "") -> None:
        """Append an outcome, or the reason why the cell has none."""
        told = None if outcome is None else asdict(outcome)
        facts = {"cell": asdict(cell), "commit": commit, "reason": reason, "outcome": told}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")

    def read(self) -> dict[Cell, Found]:
        """All that there are."""
        found: dict[Cell, Found] = {}
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        for line in text.splitlines():
            facts = json.loads(line)
            own = found.setdefault(Cell(**facts["cell"]), Found(reason=facts["reason"]))
            own.commit = facts["commit"]
            if facts["outcome"] is not None:
                own.outcomes.append(Outcome(**facts["outcome"]))
        return found


def markdown(cells: dict[Cell, Found], targets: Sequence[str], command: str) -> str:
    """The table of faults and targets, and below it what was lost or left, case by case."""
    faults = [name for name in DISTURBANCES if any(cell.fault == name for cell in cells)]
    rows = [name for name in targets if any(cell.target == name for cell in cells)]
    by_place = {(cell.target, cell.fault): found for cell, found in cells.items()}
    headings = [DISTURBANCES[name][0] for name in faults]
    lines = [
        "# Faults injected",
        "",
        f"`{command}`",
        f"({time.strftime('%Y-%m-%d', time.gmtime())}, {_machine()}).",
        "A cell tells in how many cases nothing was lost and nothing was left behind: the same",
        "command, run again, ended by itself, with the bytes of an undisturbed run in results,",
        "cache and `dvc.lock`, and without a surviving process, half a file or a temporary name.",
        "Commands remove what DVC leaves under a temporary name after an hour, so such files are",
        "dated two hours back before the command is run again. An empty cell was not run. A row",
        "holds as long as no file changes that its command runs; *commit* is where it was last",
        "run.",
        "",
        f"| command | {' | '.join(headings)} | commit |",
        f"|---|{'---|' * len(faults)}---|",
        *(_row(row, [by_place.get((row, fault)) for fault in faults]) for row in rows),
        "",
    ]
    lines += [_legend(name) for name in faults]
    lines += [""]
    if phases := _phases(by_place.get((row, "kill")) for row in rows):
        lines += [f"Kills of stages: {phases}.", ""]
    if wrong := [line for cell, found in cells.items() for line in _wrong(cell, found)]:
        lines += ["## Lost or left", "", *wrong, ""]
    return "\n".join(lines)


def _row(target: str, cells: Sequence[Found | None]) -> str:
    commits = dict.fromkeys(found.commit for found in cells if found is not None)
    return f"| `{target}` | {' | '.join(map(_told, cells))} | {', '.join(commits)} |"


def _legend(fault: str) -> str:
    """What a column does, by its function's docstring."""
    heading, disturb = DISTURBANCES[fault]
    told = f"- *{heading}*: {' '.join((disturb.__doc__ or '').split())}"
    return textwrap.fill(told, 110, subsequent_indent="  ", break_on_hyphens=False)


def _told(found: Found | None) -> str:
    if found is None:
        return ""
    if found.reason:
        return found.reason
    good = sum(not outcome.problems for outcome in found.outcomes)
    told = f"{good}/{len(found.outcomes)}"
    return told if good == len(found.outcomes) else f"**{told}**"


def _phases(kills: Iterable[Found | None]) -> str:
    """In which phases of the stages the kills fell."""
    names = {
        "start": "while starting",
        "work": "at work",
        "writing": "while writing results",
        "end": "while ending",
    }
    count = Counter(o.phase for found in kills if found is not None for o in found.outcomes)
    return ", ".join(f"{count[phase]} {told}" for phase, told in names.items() if count[phase])


def _wrong(cell: Cell, found: Found) -> list[str]:
    title = f"`{cell.target}`, {DISTURBANCES[cell.fault][0]}"
    return [
        f"- {title} ({outcome.detail}): {problem}"
        for outcome in found.outcomes
        for problem in outcome.problems[:5]
    ]


def _machine() -> str:
    memory = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.release()}"
