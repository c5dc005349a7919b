"""Whether a variant gives what the plain call gives, within what rounding explains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.engine.messages import is_unsupported
from asterism.differential.engine.tasks import ExecutionOutcome
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
from asterism.differential.oracle.standard import (
    VALUES_DIFFER,
    WRONG_DTYPE,
    WRONG_SHAPE,
    ReferenceOutputs,
)
from asterism.differential.params import JudgeParams, Tolerance
from asterism.findings.calls.running import CallProgram, PlainRuns, TextRun
from asterism.memo.universe.tensors import EPSILON

#: A function is computed in several steps, each of which rounds.
_STEPS = 4
#: By which a converter says that it does not do something, beside what all libraries say so by.
_LIMITS = (r"No (conversion|translator)",)


def judge_call(
    program: CallProgram, plain: PlainRuns, indirect: TextRun, params: JudgeParams
) -> Finding:
    """What a variant gives of a call, with one status; the message is what was seen.

    Args:
        program: the call and the variant.
        plain: what the plain call gave.
        indirect: what the variant gave.
        params: tolerances.
    """
    variant, usual, ended = program.variant, plain.usual.outcome, indirect.outcome

    def found(status: str, said: str, odd: ExecutionOutcome = ended) -> Finding:
        facts = 0, status, "run", variant.library, (variant.framework,)
        return Finding(*facts, exception=odd.exception, frame=odd.frame, message=said)

    said = f"{ended.exception}: {ended.message}"
    if ended.status == CRASH and not usual.killed:
        return found(CRASH, said)
    if not usual.ran:
        if variant.checks and usual.status == ERROR and not _says_limit(usual, ()) and ended.ran:
            return found(SILENT_ACCEPTANCE, f"{usual.exception}: {usual.message}", usual)
        return found(INVALID_INPUTS, usual.message, usual)
    if ended.status == HANG:
        return found(HANG, ended.exception)
    if not ended.ran:
        return found(UNSUPPORTED if _says_limit(ended, variant.unsupported) else ERROR, said)
    expected, actual = plain.usual.arrays, indirect.arrays
    if len(expected) != len(actual):
        return found(WRONG_SHAPE, f"{len(actual)} outputs in place of {len(expected)}")
    dtypes = zip(plain.usual.dtypes, indirect.dtypes, strict=True)
    standards = standards_of(program, plain, params)
    for right, given, kinds, standard in zip(expected, actual, dtypes, standards, strict=True):
        if right.shape != given.shape:
            return found(WRONG_SHAPE, f"{list(given.shape)} in place of {list(right.shape)}")
        if len(set(kinds)) > 1:
            return found(WRONG_DTYPE, f"{kinds[1]} in place of {kinds[0]}")
        if standard is None:  # whole numbers, of which each is exact
            kind = "" if np.array_equal(right, given) else VALUES_DIFFER
        else:
            difference = standard.off(_real(given))
            kind = "" if difference is None else difference.kind
        if kind:
            return found(kind, f"expected {_first_elements(right)} actual {_first_elements(given)}")
    return found(RIGHT, "")


def standards_of(
    program: CallProgram, plain: PlainRuns, params: JudgeParams
) -> list[ReferenceOutputs | None]:
    """What each result must be: the plain call's, or that of float64; None where it is integers.

    Real and imaginary parts are outputs of their own.

    Args:
        program: the call and the variant.
        plain: what the plain call gave.
        params: tolerances.
    """
    found: list[ReferenceOutputs | None] = []
    narrow = program.variant.finest, *program.call.narrow
    for at, expected in enumerate(plain.usual.arrays):
        if expected.dtype.kind not in "fc":
            found.append(None)
            continue
        references = {"plain": _in_float64(expected)}
        right, shifted = (_like(run, at, expected) for run in (plain.exact, plain.moved))
        if right is not None:
            references["float64"] = _in_float64(right)
        dtypes = plain.usual.dtypes[at], *narrow
        epsilon = max(EPSILON.get(dtype, EPSILON["float32"]) for dtype in dtypes)
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


def _first_elements(array: NDArray[Any]) -> str:
    return re.sub(r"\s+", " ", np.array2string(array.reshape(-1)[:8], precision=5))


def _says_limit(ended: ExecutionOutcome, patterns: Sequence[str]) -> bool:
    limits = (*_LIMITS, *patterns)
    said = is_unsupported(ended.exception, ended.message, limits)
    return ended.status == UNSUPPORTED or said
