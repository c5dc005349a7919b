"""What an upgrade of a library changes: both versions run every model, beside a float64 reference.

Each output element has a bound of its own, as for the oracle: what rounding explains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.adapters.backends import (
    OF_ONNX,
    option_of,
    precision_of,
)
from asterism.libraries.adapters.reference import STEP
from asterism.libraries.judging.compare import (
    Difference,
    Moved,
    first_difference,
    moved_of,
    spreads_by_rounding,
    tolerance_for,
)
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.judging.special_values import Probes
from asterism.libraries.running.outcomes import ExecutionOutcome
from asterism.libraries.running.tasks import GivenFile, Result, Task
from asterism.libraries.running.tolerance import Tolerance
from asterism.libraries.running.worker_pool import WorkerPool
from asterism.memo.universe.tensors import EPSILON
from asterism.versions.answers import answers_in_words, constant_in_words
from asterism.versions.model_files import ModelFile

#: What an upgrade can do to a model, the worst first, and what each word means on the page.
CHANGES = {
    "no longer runs": "the old version runs it, and the new one fails",
    "no longer supported": "the old version runs it, and the new one says that it does not",
    "now wrong": "the old version is within the bound of the reference, the new one is not",
    "silently wrong": "one version is outside the bound of the reference and says nothing, and the "
    "other one does not run it",
    "differs": "no reference computes it, and the versions differ by more than the bound",
    "both wrong": "both versions are outside the bound, and differ from each other by more than it",
    "special values": "one of them differs from the reference only where nothing decides what is "
    "right: in what follows from NaN, infinities or overflow",
    "stated limit": "one of them warns that it does not compute what the model says",
    "now right": "the old version is outside the bound of the reference, the new one is within",
    "now runs": "the old version fails, and the new one runs it",
    "both off alike": "both are outside the bound and agree: they or the reference are wrong",
    "neither runs": "both versions fail, or do not support it",
    "within rounding": "the outputs differ by no more than rounding explains",
    "same": "every output has the same bits",
}
#: What one of eight bits is off, relative to its tensor's range.
STEP_OF_EIGHT_BITS = 1 / 255
#: Those for which an upgrade should wait.
WORSE = ("no longer runs", "no longer supported", "now wrong", "silently wrong", "differs")
#: Those that are no change of what the model computes.
UNCHANGED = ("both off alike", "neither runs", "within rounding", "same")


@dataclass(frozen=True)
class Pair:
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
class Change:
    """What an upgrade does to one model in one way to run it.

    Args:
        subject: name of the model.
        pair: the way to run it.
        distribution: its inputs.
        kind: one of :data:`CHANGES`.
        old: how the old version is off, None where it is not.
        new: the same of the new version.
        apart: largest difference between the versions' outputs.
        said: what the failing version said.
        referee: what the versions were compared with.
        beside: of a version that is silently wrong, what the other one said.
        answers: what each version gave where they are furthest apart, where nothing decides.
    """

    subject: str
    pair: Pair
    distribution: str
    kind: str
    old: Difference | None = None
    new: Difference | None = None
    apart: float = 0.0
    said: str = ""
    referee: str = OF_ONNX.right
    beside: str = ""
    answers: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        """Whether the model computes something else, or runs where it did not."""
        return self.kind not in UNCHANGED

    @property
    def culprit(self) -> str:
        """The backend that is off, or fails."""
        if self.kind == "silently wrong":
            return self.pair.old if self.new is None else self.pair.new
        worse = ("no longer runs", "no longer supported", "now wrong")
        return self.pair.new if self.kind in worse else self.pair.old


def run_subject(
    pool: WorkerPool,
    subject: ModelFile,
    inputs: dict[str, list[NDArray[Any]]],
    backends: Sequence[str],
) -> Result:
    """A model in these backends and the references."""
    wanted = dict.fromkeys((*backends, *subject.references.all))
    chosen = tuple(b for b in wanted if b in pool.usable())
    file = GivenFile(subject.content, subject.suffix, subject.quantises)
    return pool.run(Task(0, file, inputs, backends=chosen))


def changes_of(
    subject: ModelFile, result: Result, pairs: Sequence[Pair], params: JudgeParams
) -> list[Change]:
    """What the upgrade does to a model, for each way to run it and each kind of inputs."""
    return [
        change_of(subject, result, pair, distribution, params)
        for pair in pairs
        if pair.old in result.outcomes and pair.new in result.outcomes
        for distribution in result.distributions
    ]


def change_of(
    subject: ModelFile, result: Result, pair: Pair, distribution: str, params: JudgeParams
) -> Change:
    """What the upgrade does to a model in one way to run it."""

    def change(kind: str, **facts: object) -> Change:
        referee = facts.pop("referee", subject.references.right)
        return Change(subject.name, pair, distribution, kind, referee=referee, **facts)  # type: ignore[arg-type]

    before, after = result.outcomes[pair.old], result.outcomes[pair.new]
    if before.status != "ok" or after.status != "ok":
        return change(**_of_failure(subject, result, pair, distribution, params))
    old, new = (result.outputs[backend][distribution] for backend in (pair.old, pair.new))
    apart = _apart(old, new)
    if not has_reference(subject, result, distribution):
        alike = are_alike(subject, result, pair, distribution, params)
        kind = ("same" if _same(old, new) else "within rounding") if alike else "differs"
        answers = () if alike else tuple(answers_in_words([old, new]))
        return change(kind, apart=apart, referee=pair.new, answers=answers)
    probes = probes_of(subject, result, distribution)

    def judged(backend: str, given: Probes | None) -> Difference | None:
        return off_reference(subject, result, backend, distribution, params, given)

    was, now = judged(pair.old, probes), judged(pair.new, probes)
    limit = (before.warned if was else "") or (after.warned if now else "")
    if limit:
        return change("stated limit", old=was, new=now, apart=apart, said=limit)
    if was is None and now is None and probes is not None and not _same(old, new):
        was, now = judged(pair.old, None), judged(pair.new, None)
        if was is not None or now is not None:
            return change("special values", old=was, new=now, apart=apart)
    if was is None or now is None:
        right = "same" if _same(old, new) else "within rounding"
        kind = "now right" if was else "now wrong" if now else right
    else:
        alike = are_alike(subject, result, pair, distribution, params)
        kind = "both off alike" if alike else "both wrong"
    answers = tuple(answers_in_words([old, new])) if kind == "both wrong" else ()
    return change(kind, old=was, new=now, apart=apart, answers=answers)


def _of_failure(
    subject: ModelFile, result: Result, pair: Pair, distribution: str, params: JudgeParams
) -> dict[str, Any]:
    """What an upgrade does where a version does not run a model: kind and facts of the change."""
    before, after = result.outcomes[pair.old], result.outcomes[pair.new]
    if before.status != "ok" and after.status != "ok":
        return {"kind": "neither runs", "said": said_by(before)}
    ran, failed = (pair.old, after) if before.status == "ok" else (pair.new, before)
    said = said_by(failed)
    if has_reference(subject, result, distribution):
        probes = probes_of(subject, result, distribution)
        if wrong := off_reference(subject, result, ran, distribution, params, probes):
            side = "old" if ran == pair.old else "new"
            return {"kind": "silently wrong", side: wrong, "beside": said}
    elif constant := constant_in_words(result.outputs[ran][distribution]):
        said += f"; of {ran}, which no reference judges, {constant}"
    if ran == pair.new:
        return {"kind": "now runs", "said": said}
    limit = after.status == "unsupported"
    return {"kind": "no longer supported" if limit else "no longer runs", "said": said}


def has_reference(subject: ModelFile, result: Result, distribution: str) -> bool:
    """Whether a float64 run says what the model computes."""
    ran = distribution in result.outputs.get(subject.references.right, {})
    return ran and subject.is_in_reference


def lacks_reference(subject: ModelFile, result: Result) -> str:
    """Why no reference says what the model computes; nothing where one does."""
    outcome = result.outcomes.get(subject.references.right)
    if outcome is None:
        return "no reference works here"
    if outcome.status != "ok":
        return said_by(outcome)
    return "" if subject.is_in_reference else "the reference passes over an attribute of a node"


def are_alike(
    subject: ModelFile, result: Result, pair: Pair, distribution: str, params: JudgeParams
) -> bool:
    """Whether two backends that ran a model give the same within the bound of both.

    Where no reference says what a step of quantisation moves, a few of each output are allowed.
    """
    old, new = (result.outputs[backend][distribution] for backend in (pair.old, pair.new))
    bounds = tolerance_of(subject, params)
    if subject.quantises and not has_reference(subject, result, distribution):
        coarse = any(precision_of(backend) for backend in (pair.old, pair.new))
        bounds = Tolerance(8 if coarse else 2, params.conditioning, STEP_OF_EIGHT_BITS, 1)
    both = tolerance_for(pair.old, tolerance_for(pair.new, bounds))
    return off(old, new, {}, dtypes_of(subject, new), both) is None


def off_reference(
    subject: ModelFile,
    result: Result,
    backend: str,
    distribution: str,
    params: JudgeParams,
    probes: Probes | None,
) -> Difference | None:
    """How a backend that ran a model is off its reference, which ran it too; None: it is not."""
    outputs = result.outputs[backend][distribution]
    return off(
        outputs,
        result.outputs[subject.references.right][distribution],
        moved_of(result.outputs, subject.references.perturbed, distribution),
        dtypes_of(subject, outputs),
        tolerance_for(backend, tolerance_of(subject, params)),
        probes,
    )


def off(
    outputs: Sequence[NDArray[Any]],
    reference: Sequence[NDArray[Any]],
    moved: Moved,
    dtypes: Sequence[str],
    bounds: Tolerance,
    probes: Probes | None = None,
) -> Difference | None:
    """How outputs are off the reference by more than rounding explains; None where they are not."""
    kinds = ["uint8" if kind == "bool" else kind for kind in dtypes]
    spread = spreads_of(reference, moved, bounds)
    return first_difference(_numbers(outputs), _numbers(reference), kinds, spread, bounds, probes)


def probes_of(subject: ModelFile, result: Result, distribution: str) -> Probes | None:
    """What tells which elements are to be judged where inputs are special."""
    probes = subject.references.probes
    return Probes.of(result.outputs, probes, distribution, by_letter=subject.is_defined_for_nan)


def spreads_of(
    reference: Sequence[NDArray[Any]], moved: Moved, tolerance: Tolerance
) -> list[float]:
    """How far rounding moves each output; truth values count as 0 and 1.

    A step of quantisation counts once, where rounding counts as often as ``conditioning`` says.

    Args:
        reference: the float64 run.
        moved: perturbed runs, by the dtype of their rounding.
        tolerance: whose dtype's rounding counts beside float32's.
    """
    numbers = {dtype: [_numbers(run) for run in runs] for dtype, runs in moved.items()}
    stepped = {"float32": numbers.pop(STEP, [])}
    rounding = spreads_by_rounding(_numbers(reference), numbers, tolerance.epsilon)
    steps = spreads_by_rounding(_numbers(reference), stepped, tolerance.epsilon)
    share = tolerance.conditioning * max(tolerance.epsilon / EPSILON["float32"], 1.0)
    return [max(r, s / share) for r, s in zip(rounding, steps, strict=True)]


def _numbers(arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Truth values as numbers, which can be subtracted."""
    return [a.astype(np.uint8) if a.dtype == bool else a for a in arrays]


def tolerance_of(subject: ModelFile, params: JudgeParams) -> Tolerance:
    """What rounding explains: by the coarsest type of the file, and by its longest path."""
    epsilon = EPSILON[subject.coarsest]
    return Tolerance(params.ulps, params.conditioning, epsilon, depth_of(subject))


def depth_of(subject: ModelFile) -> int:
    """Number of nodes on the longest path."""
    depths: dict[str, int] = {}
    for node in subject.nodes:
        depth = max((depths.get(name, 0) for name in node.reads), default=0) + 1
        depths |= dict.fromkeys(node.makes, depth)
    return max(depths.values(), default=1)


def dtypes_of(subject: ModelFile, outputs: Sequence[NDArray[Any]]) -> list[str]:
    """The type that the file declares for each output, or what came where it declares none."""
    known = subject.declared
    return known if len(known) == len(outputs) else [str(output.dtype) for output in outputs]


def _same(old: Sequence[NDArray[Any]], new: Sequence[NDArray[Any]]) -> bool:
    return len(old) == len(new) and all(
        (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
        for a, b in zip(old, new, strict=True)
    )


def _apart(old: Sequence[NDArray[Any]], new: Sequence[NDArray[Any]]) -> float:
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


def said_by(outcome: ExecutionOutcome) -> str:
    """How a backend that did not run a model ended, and what it said."""
    return f"{outcome.status}: {outcome.exception} {outcome.message}".strip()
