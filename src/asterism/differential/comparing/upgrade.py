"""What an upgrade of a library changes: the difference of both versions' findings.

Both versions run every model, beside a float64 reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from asterism.differential.adapters.backend_names import option_of
from asterism.differential.comparing.judging import Answers, answers_in_words, judge_of_file
from asterism.differential.engine.tasks import Result
from asterism.differential.oracle.finding import (
    RIGHT,
    SPECIAL_VALUES,
    STATED_LIMIT,
    UNCHECKED,
    UNSUPPORTED,
    Finding,
)
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.subjects.model_files import ModelFile

#: What an upgrade can do to a model, the worst first. The page says what each word means.
CHANGES = (
    "no longer runs",
    "no longer supported",
    "now wrong",
    "silently wrong",
    "differs",
    "both wrong",
    "special values",
    "stated limit",
    "now right",
    "now runs",
    "both off alike",
    "neither runs",
    "within rounding",
    "same",
)
#: Those for which an upgrade should wait.
WORSE = ("no longer runs", "no longer supported", "now wrong", "silently wrong", "differs")
#: Those that are no change of what the model computes.
UNCHANGED = ("both off alike", "neither runs", "within rounding", "same")
#: How far two versions' outputs are from each other.
SAME, ALIKE, APART = "same", "within rounding", "apart"


class UpgradePair(NamedTuple):
    """One way to run a model, in both versions.

    Args:
        old: backend of the version that is left.
        new: backend of the version that is taken.
    """

    old: str
    new: str

    @property
    def option(self) -> str:
        """The way to run a file, of both."""
        old, new = option_of(self.old), option_of(self.new)
        return old if old == new else f"{old} and {new}"


@dataclass(frozen=True)
class UpgradeChange:
    """What an upgrade does to one model in one way to run it.

    Args:
        subject: name of the model.
        old: what the old version does.
        new: what the new version does.
        outputs: how the outputs of both compare, :data:`SAME`, :data:`ALIKE` or :data:`APART`.
        apart: largest difference between the versions' outputs.
        referee: what the versions were compared with in place of a reference; nothing where one
            says what is right.
        answers: what each version gave, where they are wrong in two ways or nothing decides.
        status: of the version at fault, where that is told in place of the change.
    """

    subject: str
    old: Finding
    new: Finding
    outputs: str = APART
    apart: float = 0.0
    referee: str = ""
    answers: Answers = ()
    status: str = ""

    @property
    def label(self) -> str:
        """What pages call it."""
        return self.status or self.kind

    @property
    def way(self) -> str:
        """How the model was run, as pages say it."""
        return self.culprit if self.status else self.pair.option

    @property
    def pair(self) -> UpgradePair:
        """The way to run it."""
        return UpgradePair(self.old.backends[0], self.new.backends[0])

    @property
    def distribution(self) -> str:
        """The model's inputs."""
        return self.old.distributions[0]

    @property
    def kind(self) -> str:
        """One of :data:`CHANGES`."""
        old, new = self.old, self.new
        symptoms = {old.symptom, new.symptom}
        if old.fails and new.fails:
            return "neither runs"
        if old.fails or new.fails:
            if old.by_values or new.by_values:
                return "silently wrong"
            if old.fails:
                return "now runs"
            unsupported = new.symptom == UNSUPPORTED
            return "no longer supported" if unsupported else "no longer runs"
        if STATED_LIMIT in symptoms:
            return STATED_LIMIT
        if old.by_values and new.by_values:
            return "both wrong" if self.outputs == APART else "both off alike"
        if old.by_values:
            return "differs" if self.referee == self.pair.new else "now right"
        if new.by_values:
            return "now wrong"
        if SPECIAL_VALUES in symptoms and self.outputs != SAME:
            return "special values"
        return SAME if self.outputs == SAME else ALIKE

    @property
    def at_fault(self) -> Finding:
        """What the version does that is off, or fails."""
        if self.kind == "silently wrong":
            return self.old if self.new.fails else self.new
        both = (self.old, self.new)
        odd = [one for one in both if one.fails or one.by_values]
        odd += [one for one in both if one.symptom not in (RIGHT, UNCHECKED)]
        return next(iter(odd), self.old)

    @property
    def culprit(self) -> str:
        """The backend that is off, or fails."""
        return self.at_fault.backends[0]

    @property
    def said(self) -> str:
        """What a version said that fails, or warns."""
        return next((one.said for one in (self.old, self.new) if one.said), "")


def change_of(
    subject: ModelFile, result: Result, pair: UpgradePair, distribution: str, params: JudgeParams
) -> UpgradeChange:
    """What the upgrade does to a model in one way to run it.

    Without a reference, the old version is compared with the new one.
    """
    judge = judge_of_file(subject, result, distribution, params)
    both = result.outcomes[pair.old].ran and result.outcomes[pair.new].ran
    other = pair.new if both else ""
    old, new = judge.of(pair.old, other), judge.of(pair.new, other)
    referee = "" if judge.is_known else pair.new
    if not both:
        return UpgradeChange(subject.name, old, new, referee=referee)
    given = [result.outputs[backend][distribution] for backend in (pair.old, pair.new)]
    alike = ALIKE if judge.are_alike(pair.old, pair.new) else APART
    outputs = SAME if same_bits(*given) else alike
    change = UpgradeChange(subject.name, old, new, outputs, furthest_apart(*given), referee)
    if change.kind in ("both wrong", "differs"):
        versions = (pair.old,), (pair.new,)
        return replace(change, answers=tuple(zip(versions, answers_in_words(given), strict=True)))
    return change


def same_bits(old: Sequence[NDArray[Any]], new: Sequence[NDArray[Any]]) -> bool:
    """Whether two lists of arrays are the same in types, shapes and every bit."""
    return len(old) == len(new) and all(
        (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
        for a, b in zip(old, new, strict=True)
    )


def furthest_apart(old: Sequence[NDArray[Any]], new: Sequence[NDArray[Any]]) -> float:
    """The largest absolute difference of elements that are finite in both; infinity by shape."""
    largest = 0.0
    for a, b in zip(old, new, strict=False):
        if a.shape != b.shape:
            return float("inf")
        with np.errstate(all="ignore"):
            distance = np.abs(a.astype(np.float64) - b.astype(np.float64))
        finite = distance[np.isfinite(distance)]
        largest = max(largest, float(finite.max(initial=0.0)))
    return largest
