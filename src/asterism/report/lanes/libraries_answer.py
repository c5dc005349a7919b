"""Rules of the answer about libraries: whether they compute the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asterism.core.messages.escaping import pluralise
from asterism.report.base.section import (
    INTERVALS,
    FrontPageAnswer,
    KeyFigure,
    Level,
    Step,
    format_share,
    listed,
    percent,
)

#: A larger share of models that Keras rejects says that generation is at fault.
REJECTED = 0.1
#: Fewer models are a first look.
FEW_MODELS = 50


@dataclass(frozen=True)
class LibraryResults:
    """What the answer is made of.

    Attributes:
        generated: models.
        executed: of them, those that ran in all libraries.
        agreements: outputs that agree with the reference.
        unresolved: disagreements that no other library settles.
        rejected: share of the models run that Keras rejects.
        libraries: those with a problem, in order.
        problems: unique findings.
        known: of them, those that were known.
        confirmed: of them, those that a script showed in three processes.
        affected: models run that show one of them.
        left: groups of findings that were not examined.
        left_by_time: of them, those for which there was no time; none or all.
        cut_by_time: problems whose model might be smaller, had there been time.
        left_out: backends that could not be run.
        silent: backends that ran no model.
    """

    generated: int
    executed: int
    agreements: int
    unresolved: int
    rejected: float
    libraries: tuple[str, ...]
    problems: int
    known: int
    confirmed: int
    affected: int
    left: int
    left_by_time: int
    cut_by_time: int
    left_out: tuple[str, ...]
    silent: tuple[str, ...]


def answer_libraries(found: LibraryResults) -> FrontPageAnswer:
    """Do the libraries compute the same?"""
    level, sentence = _verdict(found)
    return FrontPageAnswer(
        question="Do the libraries compute the same?",
        level=level,
        sentence=sentence,
        figures=(
            KeyFigure(
                "different problems",
                f"{found.problems:,}",
                f"{found.confirmed} of {found.problems} shown by a script in three processes",
                (
                    "metrics/triage_findings.json: unique",
                    "metrics/triage_findings.json: reproduced_in_three_processes",
                ),
            ),
            KeyFigure(
                "models run that show one",
                f"{found.affected} of {found.executed}",
                format_share(found.affected, found.executed, "model"),
                (
                    "artifacts/triage_findings/unique.json: models",
                    "metrics/generate_models.json: executed",
                ),
            ),
            KeyFigure(
                "outputs that agree with float64",
                f"{found.agreements:,}",
                f"{pluralise(found.unresolved, 'disagreement')} unresolved",
                ("metrics/judge_models.json: agreements, unresolved",),
            ),
            KeyFigure(
                "models generated",
                f"{found.generated:,}",
                f"{found.executed} of them ran in all libraries",
                ("metrics/generate_models.json: models",),
            ),
        ),
        certainty=f"{pluralise(found.executed, 'model')} of one random stream ran. {INTERVALS}",
        unusual=tuple(_unusual(found)),
        steps=tuple(_steps(found)),
    )


def _verdict(found: LibraryResults) -> tuple[Level, str]:
    new = found.problems - found.known
    if found.problems:
        where = f" in {listed(list(found.libraries))}"
        known = f", {found.known} of them known" if found.known else ""
        told = f"No: {pluralise(found.problems, 'different problem')}{where}{known}."
        return (Level.ACT if new else Level.LOOK), told
    if not found.executed or found.unresolved or found.left:
        return Level.LOOK, "Not shown: no problem was confirmed, but not all could be judged."
    return Level.GOOD, f"Yes: no difference in {pluralise(found.executed, 'model')}."


def _unusual(found: LibraryResults) -> Iterator[str]:
    if found.left:
        limit = "triage.minutes" if found.left_by_time else "triage.max_unique"
        groups = pluralise(found.left, "group")
        yield f"{groups} of findings were not examined: the limit {limit} was reached."
    if found.cut_by_time:
        models = pluralise(found.cut_by_time, "minimal model")
        yield f"{models} might be smaller: the limit triage.minutes was reached."
    if found.left_out:
        yield f"Left out, since they could not be started: {listed(list(found.left_out))}."
    if found.silent:
        yield f"Ran no model at all: {listed(list(found.silent))}."
    if found.rejected > REJECTED:
        yield f"Keras rejects {percent(found.rejected)} of the models run."
    if found.confirmed < found.problems:
        missing = found.problems - found.confirmed
        yield f"{pluralise(missing, 'problem')} did not show in each of three fresh processes."


def _steps(found: LibraryResults) -> Iterator[Step]:
    if found.problems:
        yield Step(
            "Read the bug reports, and send what is new:",
            "artifacts/triage_findings/FINDING/report.md",
        )
    if found.left_by_time or found.cut_by_time:
        yield Step("Go on from there:", "dvc repro -s --force triage_findings")
    elif found.left:
        asked = found.problems + found.left
        yield Step("Examine the other groups:", f"dvc exp run -S triage.max_unique={asked}")
    if found.executed < FEW_MODELS:
        yield Step("Run more models:", f"dvc exp run -S generate.executed={2 * FEW_MODELS}")
