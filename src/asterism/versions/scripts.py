"""The script of a change: a part of a model that one version computes wrongly, or fails at."""

from __future__ import annotations

from pathlib import Path

from asterism.libraries.adapters.backends import library_of, product_of
from asterism.libraries.judging.compare import bounds, moved_of, tolerance_for
from asterism.libraries.judging.finding import Finding
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.decisions import Right
from asterism.libraries.reporting.file_scripts import write_file_script
from asterism.libraries.reporting.script_writer import REPRO
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
    script = place / REPRO
    write_file_script(
        script,
        title,
        part.change.culprit,
        part.subject.content,
        part.inputs,
        right_of(part, params),
        finding_of(part),
    )
    return script


def right_of(part: Part, params: JudgeParams) -> Right | None:
    """What is right of a part; None where the change is that something fails.

    Args:
        part: the smallest part that shows the change.
        params: the oracle's tolerances.
    """
    change, references = part.change, part.subject.references
    if change.said:
        return None
    outputs = part.result.outputs[change.referee][change.distribution]
    perturbed = references.perturbed if change.referee == references.right else {}
    moved = moved_of(part.result.outputs, perturbed, change.distribution)
    limit = tolerance_for(change.culprit, tolerance_of(part.subject, params))
    probes = probes_of(part.subject, part.result, change.distribution)
    pairs = zip(outputs, spreads_of(outputs, moved, limit), strict=True)
    allowed = [bounds(at, o, spread, limit, probes) for at, (o, spread) in enumerate(pairs)]
    actual = part.result.outputs[change.culprit][change.distribution]
    return Right(outputs, actual, allowed, dtypes_of(part.subject, outputs))


def finding_of(part: Part) -> Finding:
    """The change as scripts take it."""
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
