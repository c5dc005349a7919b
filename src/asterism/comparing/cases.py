"""What backends that run a model side by side do with it: a library's status, or a change.

Beside them a float64 reference runs every model. A change is the difference of the findings of two
versions of a library.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from asterism.comparing.judging import Answers, describe_answers, judge_of_file
from asterism.differential.adapters.backend_names import option_of
from asterism.differential.engine.tasks import Result
from asterism.differential.oracle.finding import (
    RIGHT,
    SPECIAL_VALUES,
    STATED_LIMIT,
    UNCHECKED,
    UNSUPPORTED,
    Finding,
)
from asterism.differential.params import JudgeParams
from asterism.differential.subjects import ModelFile

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
SAME, ALIKE, DIFFERENT = "same", "within rounding", "different"


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
        """The option by which both versions run a file."""
        old, new = option_of(self.old), option_of(self.new)
        return old if old == new else f"{old} and {new}"


class ComparisonCase(ABC):
    """What one model does in backends that are compared, on one kind of inputs.

    Attributes:
        subject: name of the model.
        answers: what each backend gave, where they are wrong in two ways or nothing decides.
    """

    subject: str
    answers: Answers

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name of the case's kind on pages."""

    @property
    @abstractmethod
    def variant(self) -> str:
        """How the model was run, as pages say it."""

    @property
    @abstractmethod
    def backends(self) -> Sequence[str]:
        """The backend at fault, and the one that it is compared with, where there is one."""

    @property
    @abstractmethod
    def at_fault(self) -> Finding:
        """The finding about the backend that is off or fails."""

    @property
    @abstractmethod
    def of_other(self) -> str:
        """The result of the backend that it is compared with, as the end of a sentence."""

    @property
    def culprit(self) -> str:
        """The backend that is off, or fails."""
        return self.at_fault.backends[0]

    @property
    def other(self) -> str:
        """The backend that it is compared with; empty if there is none."""
        return next((backend for backend in self.backends if backend != self.culprit), "")

    @property
    def distribution(self) -> str:
        """The kind of the model's inputs."""
        return self.at_fault.distributions[0]

    @property
    def said(self) -> str:
        """The message of a backend that fails or warns."""
        return self.at_fault.said

    @abstractmethod
    def seen_in(
        self, part: ModelFile, result: Result, params: JudgeParams
    ) -> ComparisonCase | None:
        """The same case in a part of the model; None if the part does not show it.

        Args:
            part: of the model.
            result: what the backends and the references did with it.
            params: the oracle's tolerances.
        """

    @abstractmethod
    def measures(self) -> dict[str, Any]:
        """How far off the backend is, as JSON values."""


@dataclass(frozen=True)
class LibraryStatus(ComparisonCase):
    """What one configuration of a library does with a model.

    Args:
        subject: name of the model.
        finding: with the status, and the backends that are right where it is a fault.
        is_known: whether a reference says what is right; else most libraries do.
        answers: what each group of backends gave, where nothing decides.
    """

    subject: str
    finding: Finding
    is_known: bool = True
    answers: Answers = ()

    @property
    def kind(self) -> str:
        """The status: one of :data:`~asterism.differential.oracle.finding.STATUSES`."""
        return self.finding.symptom

    @property
    def variant(self) -> str:
        """See :class:`ComparisonCase`."""
        return self.culprit

    @property
    def backends(self) -> Sequence[str]:
        """See :class:`ComparisonCase`."""
        return *self.finding.agreeing[:1], self.culprit

    @property
    def at_fault(self) -> Finding:
        """See :class:`ComparisonCase`."""
        return self.finding

    @property
    def of_other(self) -> str:
        """See :class:`ComparisonCase`."""
        return " is right" if self.is_known or self.finding.fails else ""

    def seen_in(self, part: ModelFile, result: Result, params: JudgeParams) -> LibraryStatus | None:
        """See :class:`ComparisonCase`; a failure is the same by the type of its exception."""
        judge = judge_of_file(part, result, self.distribution, params)
        ran = all(result.outcomes[backend].ran for backend in self.backends)
        found = judge.finding_of(self.culprit, self.other if ran else "")
        right = judge.finding_of(self.other, self.other if ran else "")
        ends = [(f.symptom, f.exception if f.fails else "") for f in (found, self.finding)]
        if ends[0] != ends[1] or right.fails or right.by_values:
            return None
        if not found.fails and (right.symptom == STATED_LIMIT or judge.is_known != self.is_known):
            return None
        agreeing = (self.other,)
        return replace(self, subject=part.name, finding=replace(found, agreeing=agreeing))

    def measures(self) -> dict[str, Any]:
        """See :class:`ComparisonCase`."""
        return {"off": _off(self.finding), "right": list(self.finding.agreeing)}


@dataclass(frozen=True)
class UpgradeChange(ComparisonCase):
    """What an upgrade does to one model in one way to run it.

    Args:
        subject: name of the model.
        old: what the old version does.
        new: what the new version does.
        outputs: how the outputs of both compare, :data:`SAME`, :data:`ALIKE` or :data:`DIFFERENT`.
        gap: largest difference between the versions' outputs.
        referee: what the versions were compared with in place of a reference; nothing where one
            says what is right.
        answers: what each version gave, where they are wrong in two ways or nothing decides.
    """

    subject: str
    old: Finding
    new: Finding
    outputs: str = DIFFERENT
    gap: float = 0.0
    referee: str = ""
    answers: Answers = ()

    @property
    def variant(self) -> str:
        """See :class:`ComparisonCase`."""
        return self.pair.option

    @property
    def backends(self) -> Sequence[str]:
        """See :class:`ComparisonCase`."""
        return self.pair

    @property
    def pair(self) -> UpgradePair:
        """The way to run the model, in both versions."""
        return UpgradePair(self.old.backends[0], self.new.backends[0])

    @property
    def kind(self) -> str:
        """The kind of change: one of :data:`CHANGES`."""
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
            return "both wrong" if self.outputs == DIFFERENT else "both off alike"
        if old.by_values:
            return "differs" if self.referee == self.pair.new else "now right"
        if new.by_values:
            return "now wrong"
        if SPECIAL_VALUES in symptoms and self.outputs != SAME:
            return "special values"
        return SAME if self.outputs == SAME else ALIKE

    @property
    def at_fault(self) -> Finding:
        """See :class:`ComparisonCase`; the old version's where both are."""
        if self.kind == "silently wrong":
            return self.old if self.new.fails else self.new
        both = (self.old, self.new)
        odd = [one for one in both if one.fails or one.by_values]
        odd += [one for one in both if one.symptom not in (RIGHT, UNCHECKED)]
        return next(iter(odd), self.old)

    @property
    def of_other(self) -> str:
        """See :class:`ComparisonCase`."""
        if self.kind == "silently wrong":
            return " does not run it"
        return "" if self.kind in ("both wrong", "differs") else " is right"

    @property
    def said(self) -> str:
        """The message of a version that fails or warns."""
        return next((one.said for one in (self.old, self.new) if one.said), "")

    def seen_in(self, part: ModelFile, result: Result, params: JudgeParams) -> UpgradeChange | None:
        """See :class:`ComparisonCase`."""
        change = judge_upgrade(part, result, self.pair, self.distribution, params)
        return change if self.is_like(change) else None

    def is_like(self, other: UpgradeChange) -> bool:
        """Whether another change is the same; a failure is by the type of its exception."""
        if self.kind != other.kind:
            return False
        failing = self.at_fault
        if failing.fails:
            ends = [(f.symptom, f.exception) for f in (other.at_fault, failing)]
            return ends[0] == ends[1]
        return self._differences == other._differences

    @property
    def _differences(self) -> list[str]:
        return [one.symptom for one in (self.old, self.new) if one.by_values]

    def measures(self) -> dict[str, Any]:
        """See :class:`ComparisonCase`."""
        return {"old": _off(self.old), "new": _off(self.new), "apart": min(self.gap, 1e30)}


def _off(finding: Finding) -> list[object] | None:
    """How a backend is off, and by how many times its bound; None where it is not, or fails."""
    if finding.fails or finding.symptom in (RIGHT, UNCHECKED):
        return None
    return [finding.symptom, min(finding.excess, 1e30)]


def judge_upgrade(
    subject: ModelFile, result: Result, pair: UpgradePair, distribution: str, params: JudgeParams
) -> UpgradeChange:
    """What the upgrade does to a model in one way to run it.

    Without a reference, the old version is compared with the new one.
    """
    judge = judge_of_file(subject, result, distribution, params)
    both = result.outcomes[pair.old].ran and result.outcomes[pair.new].ran
    other = pair.new if both else ""
    old, new = judge.finding_of(pair.old, other), judge.finding_of(pair.new, other)
    referee = "" if judge.is_known else pair.new
    if not both:
        return UpgradeChange(subject.name, old, new, referee=referee)
    given = [result.outputs[backend][distribution] for backend in (pair.old, pair.new)]
    alike = ALIKE if judge.are_alike(pair.old, pair.new) else DIFFERENT
    outputs = SAME if are_bitwise_equal(*given) else alike
    change = UpgradeChange(subject.name, old, new, outputs, largest_gap(*given), referee)
    if change.kind in ("both wrong", "differs"):
        versions = (pair.old,), (pair.new,)
        return replace(change, answers=tuple(zip(versions, describe_answers(given), strict=True)))
    return change


def are_bitwise_equal(old: Sequence[NDArray[Any]], new: Sequence[NDArray[Any]]) -> bool:
    """Whether two lists of arrays are the same in types, shapes and every bit."""
    return len(old) == len(new) and all(
        (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
        for a, b in zip(old, new, strict=True)
    )


def largest_gap(old: Sequence[NDArray[Any]], new: Sequence[NDArray[Any]]) -> float:
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
