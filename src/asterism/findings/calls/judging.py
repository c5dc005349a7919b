"""Whether a way gives what the plain call gives, within what rounding explains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.engine.messages import is_unsupported
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.oracle.finding import (
    CRASH,
    ERROR,
    HANG,
    INVALID_INPUTS,
    RIGHT,
    SILENT_ACCEPTANCE,
    UNSUPPORTED,
    Finding,
)
from asterism.differential.oracle.params import JudgeParams, Tolerance
from asterism.differential.oracle.standard import ReferenceOutputs
from asterism.findings.calls.running import TextRun
from asterism.findings.calls.way import ExecutionVariant
from asterism.memo.universe.tensors import EPSILON

#: A function is computed in several steps, each of which rounds.
_STEPS = 4
#: By which a converter says that it does not do something, beside what all libraries say so by.
_LIMITS = (r"No (conversion|translator)",)


def judge(
    way: ExecutionVariant,
    plain: TextRun,
    exact: TextRun,
    moved: TextRun,
    indirect: TextRun,
    params: JudgeParams,
    narrow: Sequence[str] = (),
) -> Finding:
    """What a way gives, with one status; the message is what was seen.

    Args:
        way: what ran.
        plain: the call as it is.
        exact: the same in float64.
        moved: the same with inputs moved by one rounding.
        indirect: the result of the way.
        params: tolerances.
        narrow: dtypes that the call computes in between.
    """

    def found(status: str, said: str, odd: ExecutionOutcome = indirect.outcome) -> Finding:
        facts = 0, status, "run", way.library, (way.framework,)
        return Finding(*facts, exception=odd.exception, frame=odd.frame, message=said)

    usual, ended = plain.outcome, indirect.outcome
    said = f"{ended.exception}: {ended.message}"
    if ended.status == CRASH and not usual.killed:
        return found(CRASH, said)
    if not usual.ran:
        if way.checks and usual.status == ERROR and not _says_limit(usual, ()) and ended.ran:
            return found(SILENT_ACCEPTANCE, f"{usual.exception}: {usual.message}", usual)
        return found(INVALID_INPUTS, usual.message, usual)
    if ended.status == HANG:
        return found(HANG, ended.exception)
    if not ended.ran:
        return found(UNSUPPORTED if _says_limit(ended, way.unsupported) else ERROR, said)
    if len(plain.arrays) != len(indirect.arrays):
        counts = f"{len(indirect.arrays)} outputs in place of {len(plain.arrays)}"
        return found("wrong shape", counts)
    standards = standards_of(plain, exact, moved, (way.finest, *narrow), params)
    for at, standard in enumerate(standards):
        expected, actual = plain.arrays[at], indirect.arrays[at]
        if expected.shape != actual.shape:
            return found("wrong shape", f"{list(actual.shape)} in place of {list(expected.shape)}")
        if plain.dtypes[at] != indirect.dtypes[at]:
            return found("wrong dtype", f"{indirect.dtypes[at]} in place of {plain.dtypes[at]}")
        if standard is None and not np.array_equal(expected, actual):
            return found("values differ", _told(expected, actual))
        difference = standard.off(_real(actual)) if standard is not None else None
        if difference is not None:
            return found(difference.kind, _told(expected, actual))
    return found(RIGHT, "")


def standards_of(
    plain: TextRun, exact: TextRun, moved: TextRun, dtypes: Sequence[str], params: JudgeParams
) -> list[ReferenceOutputs | None]:
    """What each result must be: the plain call's, or that of float64; None where it is integers.

    Real and imaginary parts are outputs of their own.

    Args:
        plain: the call as it is.
        exact: the same in float64.
        moved: the same with inputs moved by one rounding.
        dtypes: that the call and the way compute in.
        params: tolerances.
    """
    found: list[ReferenceOutputs | None] = []
    for at, expected in enumerate(plain.arrays):
        if expected.dtype.kind not in "fc":
            found.append(None)
            continue
        references = {"plain": _in_float64(expected)}
        right, shifted = (_like(run, at, expected) for run in (exact, moved))
        if right is not None:
            references["float64"] = _in_float64(right)
        epsilon = max(EPSILON.get(d, EPSILON["float32"]) for d in (plain.dtypes[at], *dtypes))
        tolerance = Tolerance(params.ulps, params.conditioning, epsilon, _STEPS)
        runs = {"float32": [_in_float64(shifted)]} if shifted is not None else {}
        found.append(ReferenceOutputs(references, (), tolerance, references.get("float64"), runs))
    return found


def _like(run: TextRun, at: int, expected: NDArray[Any]) -> NDArray[Any] | None:
    """A result of another run, where it has the shape and kind of what is expected."""
    if at >= len(run.arrays):
        return None
    found = run.arrays[at]
    alike = found.shape == expected.shape and found.dtype.kind == expected.dtype.kind
    return found if alike else None


def _real(array: NDArray[Any]) -> list[NDArray[Any]]:
    """The real parts, and the imaginary ones where there are some."""
    return [array.real, array.imag] if array.dtype.kind == "c" else [array]


def _in_float64(array: NDArray[Any]) -> list[NDArray[Any]]:
    return [part.astype(np.float64) for part in _real(array)]


def _told(expected: NDArray[Any], actual: NDArray[Any]) -> str:
    """The first elements of both."""
    return f"expected {_first(expected)} actual {_first(actual)}"


def _first(array: NDArray[Any]) -> str:
    return re.sub(r"\s+", " ", np.array2string(array.reshape(-1)[:8], precision=5))


def _says_limit(ended: ExecutionOutcome, patterns: Sequence[str]) -> bool:
    limits = (*_LIMITS, *patterns)
    said = is_unsupported(ended.exception, ended.message, limits)
    return ended.status == UNSUPPORTED or said
