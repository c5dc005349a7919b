"""The outcomes so far, in a file that a later call goes on with, and the table made of them."""

from __future__ import annotations

import json
import os
import platform
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
        asked: how many disturbances there were to be.
    """

    version: str
    target: str
    fault: str
    seed: int
    asked: int


class Results:
    """Finished cells, one a line of JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, cell: Cell, outcomes: Sequence[Outcome], reason: str) -> None:
        """Append a cell that is finished, or that cannot be had here for a reason."""
        facts = asdict(cell) | {"outcomes": [asdict(o) for o in outcomes], "reason": reason}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")

    def read(self) -> dict[Cell, dict[str, Any]]:
        """All that there are; of several of one cell the last."""
        if not self._path.exists():
            return {}
        found = {}
        for line in self._path.read_text(encoding="utf-8").splitlines():
            facts = json.loads(line)
            key = Cell(**{name: facts[name] for name in Cell.__dataclass_fields__})
            found[key] = facts
        return found


def markdown(
    cells: dict[Cell, dict[str, Any]], targets: Sequence[str], commit: str, command: str
) -> str:
    """The table of faults and targets, and below it what was lost or left, case by case."""
    faults = [name for name in DISTURBANCES if any(cell.fault == name for cell in cells)]
    rows = [name for name in targets if any(cell.target == name for cell in cells)]
    by_place = {(cell.target, cell.fault): facts for cell, facts in cells.items()}
    headings = [DISTURBANCES[name][0] for name in faults]
    lines = [
        "# Faults injected",
        "",
        f"`{command}`",
        f"({time.strftime('%Y-%m-%d', time.gmtime())}, commit {commit}, {_machine()}).",
        "A cell says in how many of the cases nothing was lost and nothing was left.",
        "",
        f"| command | {' | '.join(headings)} |",
        f"|---|{'---|' * len(faults)}",
        *(
            f"| `{row}` | {' | '.join(_told(by_place.get((row, fault))) for fault in faults)} |"
            for row in rows
        ),
        "",
    ]
    if phases := _phases(by_place.get((row, "kill")) for row in rows):
        lines += [f"Kills of stages: {phases}.", ""]
    if wrong := [line for cell, facts in cells.items() for line in _wrong(cell, facts)]:
        lines += ["## Lost or left", "", *wrong, ""]
    return "\n".join(lines)


def _told(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return ""
    if facts["reason"]:
        return str(facts["reason"])
    outcomes = facts["outcomes"]
    good = sum(not outcome["problems"] for outcome in outcomes)
    told = f"{good}/{len(outcomes)}"
    return told if good == len(outcomes) else f"**{told}**"


def _phases(kills: Any) -> str:
    """In which phases of the stages the kills fell."""
    names = {"start": "while importing", "work": "at work", "end": "while ending"}
    count = Counter(o["phase"] for facts in kills if facts for o in facts["outcomes"])
    return ", ".join(f"{count[phase]} {told}" for phase, told in names.items() if count[phase])


def _wrong(cell: Cell, facts: dict[str, Any]) -> list[str]:
    title = f"`{cell.target}`, {DISTURBANCES[cell.fault][0]}"
    return [
        f"- {title} ({outcome['detail']}): {problem}"
        for outcome in facts["outcomes"]
        for problem in outcome["problems"][:5]
    ]


def _machine() -> str:
    memory = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.release()}"
