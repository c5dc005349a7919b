"""The verdict on a compressed model: ship, ship with the repair, do not ship, or not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.core.statistics import Share, compute_share
from asterism.vetting.agreement import Agreement
from asterism.vetting.symptoms import Symptom

Word = Literal["ship", "ship with the repair", "do not ship", "not enough inputs to say"]

#: Exit status of ``asterism vet --exit-code`` by verdict; 1 and 2 are errors.
EXIT_CODES: dict[Word, int] = {
    "ship": 0,
    "ship with the repair": 3,
    "do not ship": 4,
    "not enough inputs to say": 5,
}


class Thresholds(ParameterSection):
    """What a compressed model has to keep; each is compared with a bound of an interval."""

    agreement: float = Field(ge=0, le=1, description="least share of inputs that both answer alike")
    accuracy_lost: float = Field(ge=0, le=1, description="most accuracy that may be lost")
    worst_class: float = Field(
        ge=0, le=1, description="least agreement in each class of at least 30 inputs"
    )
    natural_flips: float = Field(
        ge=0, le=1, description="most inputs that may flip under slight natural changes"
    )


@dataclass(frozen=True)
class ThresholdCheck:
    """One threshold and the measured value.

    Attributes:
        name: what is compared.
        measured: the share, as measured.
        threshold: what it is compared with.
        at_least: whether the share must be as large as the threshold, or as small.
        met: True or False where the whole interval lies on one side; None where the threshold lies
            within the interval, so that more inputs are needed.
    """

    name: str
    measured: Share
    threshold: float
    at_least: bool
    met: bool | None


@dataclass(frozen=True)
class Verdict:
    """What to do with a compressed model, and why.

    Attributes:
        word: the verdict.
        reasons: one sentence each, the deciding ones first; of a repaired file that is not taken,
            what it does not meet.
        criteria: all that was compared.
    """

    word: Word
    reasons: tuple[str, ...]
    criteria: tuple[ThresholdCheck, ...]


#: The criterion that a symptom's sentence tells of.
CONSTANT = "outputs that became constant"

#: Classes with fewer inputs are not judged alone.
_FEWEST = 30


def check_thresholds(
    agreement: Agreement,
    symptoms: Sequence[Symptom],
    flips: Share | None,
    thresholds: Thresholds,
    confidence: float,
    unanswered: Share | None = None,
) -> tuple[ThresholdCheck, ...]:
    """All thresholds with the measured values.

    Args:
        agreement: on the given inputs.
        symptoms: the symptoms of outputs that are broken whatever they mean.
        flips: under slight natural changes; None where none were tried.
        thresholds: what has to be kept.
        confidence: the confidence of the interval of the accuracy that was lost.
        unanswered: by a device that computes in the 16-bit numbers that the file names; None
            where it names none.
    """
    found = []
    if broken := {symptom.output for symptom in symptoms if symptom.kind == "constant"}:
        share = Share(len(broken), len(broken), 1.0, 1.0, 1.0)
        found.append(_at_most(CONSTANT, share, 0.0))
    found += [
        _at_least("agreement on the given inputs", agreement.differ.rest, thresholds.agreement)
    ]
    if unanswered is not None:
        name = "answers of a device that computes in the file's own types"
        found.append(_at_least(name, unanswered.rest, thresholds.agreement))
    if agreement.accuracy:
        found.append(_accuracy(agreement, thresholds.accuracy_lost, confidence))
    found += _worst_class(agreement, thresholds.worst_class, confidence)
    if flips is not None:
        name = "inputs that flip under slight natural changes"
        found.append(_at_most(name, flips, thresholds.natural_flips))
    return tuple(found)


def decide_verdict(
    criteria: tuple[ThresholdCheck, ...],
    repaired: tuple[ThresholdCheck, ...] | None,
    symptoms: Sequence[str] = (),
) -> Verdict:
    """The verdict that follows from criteria.

    Args:
        criteria: the criteria of the compressed model as it is.
        repaired: of the repaired file on inputs that the repair has not seen; None where there is
            none, or where it agrees with the original on fewer of these inputs than before, or is
            slower than the original.
        symptoms: sentences about broken outputs, which come before all shares.
    """
    failed = [c for c in criteria if c.met is False]
    told = [c for c in failed if c.name != CONSTANT]
    unknown = [c for c in criteria if c.met is None]
    if not failed and not unknown:
        return Verdict("ship", (*symptoms, *map(_sentence, criteria)), criteria)
    if repaired is not None and all(c.met for c in repaired):
        reasons = (*symptoms, *map(_sentence, told or unknown), *map(_of_the_repair, repaired))
        return Verdict("ship with the repair", reasons, criteria)
    lacking = [_of_the_repair(c) for c in repaired or () if not c.met]
    reasons = (*symptoms, *map(_sentence, [*told, *unknown]), *lacking)
    return Verdict("do not ship" if failed else "not enough inputs to say", reasons, criteria)


def _of_the_repair(criterion: ThresholdCheck) -> str:
    return f"repaired: {_sentence(criterion)}"


def _at_least(name: str, share: Share, threshold: float) -> ThresholdCheck:
    met = True if share.low >= threshold else False if share.high < threshold else None
    return ThresholdCheck(name, share, threshold, True, met)


def _worst_class(agreement: Agreement, threshold: float, confidence: float) -> list[ThresholdCheck]:
    """The class that agrees least, of those of whose inputs enough are given.

    These are at least so many that the threshold is met where all of them agree.
    """
    large = {
        label: differ
        for label, differ in agreement.classes.items()
        if differ.total >= _FEWEST
        and (
            compute_share(0, differ.total, confidence).rest.low >= threshold
            or differ.rest.high < threshold
        )
    }
    if not large:
        return []
    label, worst = max(large.items(), key=lambda entry: entry[1].share)
    return [_at_least(f"agreement in class {label}", worst.rest, threshold)]


def _at_most(name: str, share: Share, threshold: float) -> ThresholdCheck:
    met = True if share.high <= threshold else False if share.low > threshold else None
    return ThresholdCheck(name, share, threshold, False, met)


def _accuracy(agreement: Agreement, allowed: float, confidence: float) -> ThresholdCheck:
    """The accuracy that was lost: the share that got wrong less the share that got right.

    Both shares have intervals that together hold with the confidence asked for (Bonferroni).
    """
    total = agreement.differ.total
    worse, better = (agreement.directions[way] for way in ("right to wrong", "wrong to right"))
    each = 1 - (1 - confidence) / 2
    down, up = compute_share(worse, total, each), compute_share(better, total, each)
    lost, low, high = worse - better, down.low - up.high, down.high - up.low
    share = Share(lost, total, lost / total if total else 0.0, low, high)
    return _at_most("accuracy lost", share, allowed)


def _sentence(criterion: ThresholdCheck) -> str:
    share = criterion.measured
    told = f"{criterion.name}: {share.share:.2%} ({share.low:.2%} to {share.high:.2%})"
    asked = f"{'at least' if criterion.at_least else 'at most'} {criterion.threshold:.2%}"
    ends = {True: f"{asked} was asked", False: f"but {asked} was asked", None: f"{asked} was asked"}
    more = "; more inputs are needed" if criterion.met is None else ""
    return f"{told}, {ends[criterion.met]}{more}"
