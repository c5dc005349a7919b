"""Rules of the answer about a vetted pair: whether to ship the compressed model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from asterism.core.messages.escaping import pluralise
from asterism.core.statistics import Share
from asterism.report.base.section import FrontPageAnswer, KeyFigure, Level, Step, percent
from asterism.vetting.agreement import Agreement
from asterism.vetting.params import REPAIRED, REPAIRED_PROGRAM, VetParams
from asterism.vetting.verdict import Verdict

_LEVELS = {
    "ship": Level.GOOD,
    "ship with the repair": Level.LOOK,
    "not enough inputs to say": Level.LOOK,
    "do not ship": Level.ACT,
}
_STEPS = {
    "ship": Step("Keep the certificate. This repeats it:"),
    "ship with the repair": Step("Take the repaired file instead:", REPAIRED),
    "not enough inputs to say": Step("Give more inputs, and ask again."),
    "do not ship": Step("See what matters, what is to blame and what to do, below."),
}


def answer_vetting(
    params: VetParams, verdict: Verdict, agreement: Agreement, repair: Any
) -> FrontPageAnswer:
    """Does the compressed model do what the original does?

    Args:
        params: the pair and what was asked.
        verdict: what to do.
        agreement: on the given inputs.
        repair: what came of the repair, as its stage wrote it.
    """
    original, compressed = (Path(path).name for path in (params.original, params.compressed))
    file = "metrics/vet_measure.json: agreement"
    figures = [
        KeyFigure("verdict", verdict.word, sources=("certificate.json: verdict.word",)),
        _figure("differ on the given inputs", agreement.differ, f"{file}.differ"),
    ]
    titles = ("accuracy of the original", "accuracy of the compressed model")
    for place, (title, share) in enumerate(zip(titles, agreement.accuracy, strict=False)):
        figures.append(_figure(title, share, f"{file}.accuracy[{place}]"))
    told = verdict.word[0].upper() + verdict.word[1:]
    return FrontPageAnswer(
        question=f"Does {compressed} do what {original} does, on inputs like these?",
        level=_LEVELS[verdict.word],
        sentence=f"{told}: {verdict.reasons[0]}." if verdict.reasons else f"{told}.",
        figures=tuple(figures),
        certainty=f"Intervals hold with {percent(params.confidence)} confidence (Clopper and "
        "Pearson). A threshold is met where the whole interval lies on its good side.",
        unusual=tuple(_unusual(agreement, repair)),
        steps=(_step(params, verdict, repair),),
    )


def _step(params: VetParams, verdict: Verdict, repair: Any) -> Step:
    step = _STEPS[verdict.word]
    if verdict.word == "ship":
        return replace(step, command=params.commands()[0])
    if verdict.word == "ship with the repair" and "kept_in_float" in repair:
        if "sha256" in repair:
            return replace(step, command=REPAIRED_PROGRAM)
        names = f"kept = {repair['kept_in_float']}"
        return Step("Quantise again, and leave these modules in float:", names)
    return step


def _figure(label: str, share: Share, source: str) -> KeyFigure:
    """A share with its interval."""
    ends = f"{percent(share.low)} to {percent(share.high)}, {pluralise(share.total, 'input')}"
    return KeyFigure(label, percent(share.share), ends, (source,))


def _unusual(agreement: Agreement, repair: Any) -> Iterator[str]:
    if agreement.lost:
        yield (
            f"On {pluralise(agreement.lost, 'input')} the compressed model gives no finite answer. "
            "They count as different, and as wrong."
        )
    if agreement.failed:
        yield (
            f"On {pluralise(agreement.failed, 'input')} the original gives no finite answer, so "
            "that nothing is compared there."
        )
    if agreement.accuracy and agreement.accuracy[1].share > agreement.accuracy[0].share:
        yield "The compressed model is right more often than the original."
    if repair.get("slower"):
        yield "The repaired file is slower than the original, so using it gains nothing."
    if repair.get("agreement_fell"):
        yield "The repair lowered the agreement, so its file is not a repair."
    elif reason := repair.get("reason"):
        yield f"{reason[:1].upper()}{reason[1:]}."
