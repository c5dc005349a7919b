"""The script of a change: a part of a model that one version computes wrongly, or fails at."""

from __future__ import annotations

from pathlib import Path

from asterism.libraries.adapters.backends import (
    library_of,
    option_of,
    plugin_of,
    product_of,
)
from asterism.libraries.adapters.library import FileLibrary
from asterism.libraries.judging.compare import moved_of, tolerance_for
from asterism.libraries.judging.finding import Finding
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.file_scripts import file_script
from asterism.libraries.reporting.reproducer import tolerated
from asterism.versions.blaming import Part
from asterism.versions.comparing import dtypes_of, probes_of, spreads_of, tolerance_of

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
    script = place / "repro.py"
    script.write_text(script_of(part, title, params), encoding="utf-8")
    (place / f"model{part.subject.suffix}").write_bytes(part.subject.content)
    return script


def script_of(part: Part, title: str, params: JudgeParams) -> str:
    """A script that exits 1 where a version shows the change, 0 where it does not, 2 otherwise.

    See :func:`~asterism.libraries.reporting.file_scripts.file_script`.

    Args:
        part: the smallest part that shows the change.
        title: what the script is about, one line.
        params: the oracle's tolerances.
    """
    change = part.change
    library, references = plugin_of(library_of(change.culprit))(), part.subject.references
    assert isinstance(library, FileLibrary)
    expected = None
    if not change.said:
        outputs = part.result.outputs[change.referee][change.distribution]
        perturbed = references.perturbed if change.referee == references.right else {}
        moved = moved_of(part.result.outputs, perturbed, change.distribution)
        bounds = tolerance_for(change.culprit, tolerance_of(part.subject, params))
        allowed = tolerated(
            outputs,
            bounds,
            spreads_of(outputs, moved, bounds),
            probes_of(part.subject, part.result, change.distribution),
        )
        expected = outputs, allowed, dtypes_of(part.subject, outputs)
    return file_script(
        title,
        library,
        option_of(change.culprit),
        part.subject.content,
        part.inputs,
        expected,
        _finding(part),
        "a float64 run" if change.referee == references.right else change.referee,
    )


def _finding(part: Part) -> Finding:
    """The change as scripts' checks take it."""
    change, outcome = part.change, part.result.outcomes[part.change.culprit]
    symptom = outcome.status if outcome.status in ("hang", "memory") else "runtime crash"
    difference = change.new or change.old
    return Finding(
        0,
        difference.kind if difference is not None and not change.said else symptom,
        outcome.stage,
        product_of(library_of(change.culprit)),
        (change.culprit,),
        exception=outcome.exception,
        frame=outcome.frame,
        message=outcome.message,
    )
