"""The nodes to blame for changes and faults, with a script for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from asterism.differential.comparing.blaming import Part
from asterism.differential.comparing.judging import judge_of_file
from asterism.differential.comparing.upgrade import Change
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.decisions import Right
from asterism.differential.report.file_scripts import write_file_script
from asterism.differential.report.script_writer import REPRO

#: Characters of a folder's name.
_LONGEST = 60


@dataclass(frozen=True)
class BlameRequest:
    """A change whose nodes are looked for.

    Args:
        change: of the whole model.
        words: name its script's folder.
        libraries: whose environments the script runs in, by the name on the page.
        title: what the script is about, one line, by the part that is found.
    """

    change: Change
    words: str
    libraries: Mapping[str, str]
    title: Callable[[Part], str]


@dataclass(frozen=True)
class BlamedChange:
    """A change with the smallest part that shows it.

    Args:
        change: of the whole model.
        part: which nodes show it.
        folder: where its script lies, relative to the page.
        statuses: of the script, by the name of the library or version that ran it.
    """

    change: Change
    part: Part
    folder: str
    statuses: tuple[tuple[str, int], ...]

    @property
    def confirmed(self) -> bool:
        """Whether the script shows the bug in the version to blame, the new one last."""
        is_new = self.change.culprit == self.change.pair.new
        return self.statuses[-1 if is_new else 0][1] == 1

    @property
    def script(self) -> str:
        """Its path, relative to the page."""
        return f"{self.folder}/{REPRO}"

    @property
    def nodes(self) -> str:
        """The first nodes of the part, and how many more there are."""
        more = len(self.part.layers) - 3
        return ", ".join(self.part.layers[:3]) + (f" and {more} more" if more > 0 else "")


def write_part(part: Part, target: Path, words: str, title: str, params: JudgeParams) -> Path:
    """Write a part of a model and its script to a folder of their own; the script's path.

    Args:
        part: the smallest part that shows the change.
        target: where the folder goes.
        words: its name.
        title: what the script is about, one line.
        params: the oracle's tolerances.
    """
    name = "-".join("".join(c if c.isalnum() else " " for c in words).split())[:_LONGEST]
    script = target / name / REPRO
    script.parent.mkdir()
    change, content = part.change, part.subject.content
    right = right_of(part, params)
    facts = change.culprit, content, part.inputs, right, change.at_fault
    write_file_script(script, title, *facts)
    return script


def right_of(part: Part, params: JudgeParams) -> Right | None:
    """What is right of a part; None where the change is that something fails.

    Args:
        part: the smallest part that shows the change.
        params: the oracle's tolerances.
    """
    change, culprit = part.change, part.change.culprit
    if change.at_fault.fails:
        return None
    judge = judge_of_file(part.subject, part.result, change.distribution, params)
    standard = judge.standard or judge.beside(change.referee, culprit)
    actual = part.result.outputs[culprit][change.distribution]
    return Right(standard.expected, actual, standard.allowed(culprit), standard.dtypes)
