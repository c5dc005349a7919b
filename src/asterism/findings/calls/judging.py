"""Whether a way gives what the plain call gives, within what rounding explains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.findings.calls.running import Ran
from asterism.findings.calls.way import Way
from asterism.libraries.judging.difference import difference
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.running.messages import is_unsupported
from asterism.libraries.running.tolerance import Tolerance

#: Symptoms beside the kinds of differences.
FAILS, DIES, HANGS, ACCEPTS = "fails", "crashes", "hangs", "runs what must fail"
#: What is no finding.
AGREES, INVALID, UNSUPPORTED, ROUNDING = "agrees", "invalid", "unsupported", "eager is off"

_EPSILON = {
    "float8_e4m3fn": 2.0**-3,
    "float8_e5m2": 2.0**-2,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
}
#: A function is computed in several steps, each of which rounds.
_STEPS = 4
#: By which a way says that it does not do something: no defect.
_LIMITS = (
    r"not (yet )?(currently )?(supported|implemented)",
    r"(is|are) unsupported",
    r"[Uu]nsupported",
    r"does not (yet )?(currently )?support",
    r"only supports? ",
    r"NotImplemented",
    r"No (conversion|translator)",
)


def judge(
    way: Way,
    plain: Ran,
    exact: Ran,
    moved: Ran,
    indirect: Ran,
    params: JudgeParams,
    narrow: Sequence[str] = (),
) -> tuple[str, str]:
    """What is wrong with a way's result, or one of the words for nothing; and details.

    Args:
        way: what ran.
        plain: the call as it is.
        exact: the same in float64.
        moved: the same with inputs moved by one rounding.
        indirect: the result of the way.
        params: tolerances.
        narrow: dtypes that the call computes in between.
    """
    if plain.status == "error" and indirect.status == "crash":
        return DIES, f"{indirect.exception}: {indirect.message}"
    if not plain.is_ok:
        must_fail = way.checks and plain.status == "error" and not _says_limit(plain, ())
        if not must_fail or not indirect.is_ok:
            return INVALID, plain.message
        return ACCEPTS, f"{plain.exception}: {plain.message}"
    if indirect.status == "crash":
        return DIES, f"{indirect.exception}: {indirect.message}"
    if indirect.status == "hang":
        return HANGS, indirect.exception
    if not indirect.is_ok:
        known = _says_limit(indirect, way.unsupported)
        return UNSUPPORTED if known else FAILS, f"{indirect.exception}: {indirect.message}"
    if len(plain.arrays) != len(indirect.arrays):
        return "wrong shape", f"{len(indirect.arrays)} outputs in place of {len(plain.arrays)}"
    found = [
        _difference(plain, exact, moved, indirect, at, (way.finest, *narrow), params)
        for at in range(len(plain.arrays))
    ]
    return next((f for f in found if f[0] != AGREES), (AGREES, ""))


def tolerance(
    expected: NDArray[Any],
    exact: NDArray[Any] | None,
    moved: NDArray[Any] | None,
    dtypes: Sequence[str],
    params: JudgeParams,
) -> NDArray[np.float64]:
    """What rounding explains of each element.

    Args:
        expected: what the plain call gives.
        exact: the same in float64.
        moved: the same with inputs moved by one rounding.
        dtypes: of the plain call's result, and those that the call and the way compute in.
        params: tolerances.
    """
    spread = 0.0
    if exact is not None and moved is not None and exact.shape == moved.shape:
        with np.errstate(all="ignore"):
            apart = np.abs(moved.astype(np.float64) - exact.astype(np.float64))
        spread = float(np.max(apart[np.isfinite(apart)], initial=0.0))
    epsilon = max(_EPSILON.get(dtype, 2.0**-23) for dtype in dtypes)
    with np.errstate(all="ignore"):
        return Tolerance(params.ulps, params.conditioning, epsilon, _STEPS).of(
            np.asarray(expected, np.float64), spread
        )


def _difference(
    plain: Ran,
    exact: Ran,
    moved: Ran,
    indirect: Ran,
    at: int,
    dtypes: Sequence[str],
    params: JudgeParams,
) -> tuple[str, str]:
    expected, actual, dtype = plain.arrays[at], indirect.arrays[at], plain.dtypes[at]
    if expected.shape != actual.shape:
        return "wrong shape", f"{list(actual.shape)} in place of {list(expected.shape)}"
    if dtype != indirect.dtypes[at]:
        return "wrong dtype", f"{indirect.dtypes[at]} in place of {dtype}"
    if expected.dtype.kind not in "fc":
        same = np.array_equal(expected, actual)
        return (AGREES, "") if same else ("values differ", _told(expected, actual))
    references = [_like(run, at, expected) for run in (exact, moved)]
    kinds = []
    for reference in (expected, references[0]):
        if reference is None:
            continue
        parts = zip(*(_real(a) for a in (actual, reference)), strict=True)
        others = [_real(r) if r is not None else None for r in references]
        for number, (mine, right) in enumerate(parts):
            given = [o[number] if o is not None else None for o in others]
            allowed = tolerance(right, given[0], given[1], (dtype, *dtypes), params)
            found = difference(mine, right.astype(np.float64), allowed, str(mine.dtype))
            if found is not None:
                kinds.append((found[0], reference is expected))
    if not any(mine for _, mine in kinds):
        return AGREES, ""
    if references[0] is not None and all(mine for _, mine in kinds):
        return ROUNDING, _told(expected, actual)
    return kinds[0][0], _told(expected, actual)


def _like(run: Ran, at: int, expected: NDArray[Any]) -> NDArray[Any] | None:
    """A result of another run, where it has the shape and kind of what is expected."""
    if not run.is_ok or at >= len(run.arrays):
        return None
    found = run.arrays[at]
    alike = found.shape == expected.shape and found.dtype.kind == expected.dtype.kind
    return found if alike else None


def _real(array: NDArray[Any]) -> Sequence[NDArray[Any]]:
    """The real parts, and the imaginary ones where there are some."""
    return (array.real, array.imag) if array.dtype.kind == "c" else (array,)


def _told(expected: NDArray[Any], actual: NDArray[Any]) -> str:
    """The first elements of both."""
    return f"expected {_first(expected)} actual {_first(actual)}"


def _first(array: NDArray[Any]) -> str:
    return re.sub(r"\s+", " ", np.array2string(array.reshape(-1)[:8], precision=5))


def _says_limit(ran: Ran, patterns: Sequence[str]) -> bool:
    return is_unsupported(ran.exception, ran.message, (*_LIMITS, *patterns))
