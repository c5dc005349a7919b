"""The script of a change: a part of a model that one version computes wrongly, or fails at."""

from __future__ import annotations

from pathlib import Path

from asterism.differential.comparing.blaming import Part
from asterism.differential.comparing.judging import FileJudge
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.decisions import Right
from asterism.differential.report.file_scripts import write_file_script
from asterism.differential.report.script_writer import REPRO

#: Characters of a folder's name.
_LONGEST = 60


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
    place = target / name
    place.mkdir()
    script = place / REPRO
    write_file_script(
        script,
        title,
        part.change.culprit,
        part.subject.content,
        part.inputs,
        right_of(part, params),
        part.change.at_fault,
    )
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
    judge = FileJudge(part.subject, part.result, change.distribution, params)
    standard = judge.standard() or judge.beside(change.referee, culprit)
    actual = part.result.outputs[culprit][change.distribution]
    return Right(standard.expected, actual, standard.allowed(culprit), standard.dtypes)
