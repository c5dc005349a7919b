"""How a script decides: 1 while the bug lives, 0 when it is gone, 2 when something else fails.

What a script calls the bug is what the oracle recorded: a difference beyond the same tolerance, the
same exception, the same kind of death. ``templates/repro.py.j2`` has the lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.oracle.finding import (
    WRONG_BUFFERS,
    Finding,
    failed_condition,
    message_skeleton,
)
from asterism.differential.report.numbers import literal_array
from asterism.differential.report.texts import literal_source

Arrays = Sequence[NDArray[Any]]

#: Outputs of more numbers are compared where they differ most.
_SHOWN = 12

#: What :func:`~asterism.differential.engine.messages.strip_volatile_parts` writes for a text.
_SAID_OTHERWISE = re.compile(r"\b(ADDRESS|NUMBER|NAME)\b|_N\b|…")


@dataclass(frozen=True)
class ExpectedOutputs:
    """The right outputs of a model, and those that it gave.

    Args:
        expected: right outputs, of float64.
        actual: what the backend to blame gave.
        allowed: tolerated deviation of each element.
        dtypes: the dtypes that the outputs must have; none where any are right.
    """

    expected: Arrays
    actual: Arrays
    allowed: Arrays
    dtypes: Sequence[str] = ()


@dataclass(frozen=True)
class ScriptDecision:
    """What a script compares: what its program gives with what is right, or how it ends.

    Args:
        expected: lines that set ``expected``; of a failure what is expected, in words.
        actual: the expression of what is compared with it.
        differs: the expression that is true while the bug lives.
        finding: the failure that is looked for; None where outputs are compared.
    """

    expected: str
    actual: str = ""
    differs: str = "actual != expected"
    finding: Finding | None = None

    @property
    def recorded(self) -> tuple[str, list[str]]:
        """Name of the recorded exception, and words of its message that it always says."""
        if self.finding is None:
            return "", []
        if self.finding.symptom == WRONG_BUFFERS:
            return "WrongBuffersError", []
        condition, rest = failed_condition(self.finding.message)
        said = (condition, *message_skeleton(rest).split())
        words = [word for word in said if word and not _SAID_OTHERWISE.search(word)]
        return self.finding.exception.rpartition(".")[2], words


def compare_outputs(right: ExpectedOutputs, reference: str = "") -> ScriptDecision:
    """The decision between what a program gives and what it should give.

    Args:
        right: what it should give.
        reference: lines that set ``expected``, where the script computes it.
    """
    expected, actual = right.expected, right.actual
    if len(expected) != len(actual):
        return ScriptDecision(f"expected = {len(expected)}  # outputs", "len(outputs)")
    for at, (one, other) in enumerate(zip(expected, actual, strict=True)):
        if one.shape != other.shape:
            return ScriptDecision(
                f"expected = {literal_source(one.shape)}", f"np.shape(outputs[{at}])"
            )
    for at, (dtype, other) in enumerate(zip(right.dtypes, actual, strict=False)):
        if str(other.dtype) != dtype:
            given = f"str(np.asarray(outputs[{at}]).dtype)"
            return ScriptDecision(f"expected = {literal_source(dtype)}", given)
    at, place = _worst(right)
    whole = expected[at].size <= _SHOWN and bool(np.isfinite(right.allowed[at]).all())
    index = "" if whole or not place else f"[{', '.join(map(str, place))}]"
    chosen = ... if whole else place
    wanted = np.asarray(expected[at][chosen], np.float64)
    relative, absolute = _line_through(wanted, np.asarray(right.allowed[at][chosen]))
    near = f"rtol={relative:.2g}, atol={absolute:.2g}, equal_nan=True"
    return ScriptDecision(
        f"{reference}\nexpected = np.asarray(expected[{at}]){index}"
        if reference
        else f"expected = {literal_array(wanted).source}  # by float64",
        f"np.asarray(outputs[{at}]){index}",
        f"not np.allclose(actual, expected, {near})",
    )


def _worst(right: ExpectedOutputs) -> tuple[int, tuple[int, ...]]:
    """The output and the element that differ most for what is tolerated, masks of NaN first."""
    best: tuple[float, int, tuple[int, ...]] = (-1.0, 0, (0,) * right.expected[0].ndim)
    rows = zip(right.expected, right.actual, right.allowed, strict=True)
    for at, (wanted, wrong, limit) in enumerate(rows):
        if not wanted.size:
            continue
        with np.errstate(all="ignore"):
            off = np.abs(wanted - wrong.astype(np.float64)) / limit
            other = (np.isnan(wanted) != np.isnan(wrong)) | (np.isinf(wanted) != np.isinf(wrong))
            off = np.where(np.isfinite(limit), np.where(other, np.inf, off), 0.0)
        off = np.nan_to_num(off, nan=0.0, posinf=np.finfo(np.float64).max)
        place = tuple(int(i) for i in np.unravel_index(int(np.argmax(off)), off.shape))
        best = max(best, (float(off[place]), at, place))
    return best[1], best[2]


def _line_through(expected: NDArray[Any], allowed: NDArray[Any]) -> tuple[float, float]:
    """Relative and absolute tolerance: what is tolerated grows in line with a value's size."""
    size = np.abs(np.where(np.isfinite(expected), expected, 0.0)).reshape(-1)
    limit = np.asarray(allowed, np.float64).reshape(-1)
    if not size.size:
        return 0.0, 0.0
    low, high = int(np.argmin(size)), int(np.argmax(size))
    apart = float(size[high] - size[low])
    relative = float(limit[high] - limit[low]) / apart if apart else 0.0
    return max(relative, 0.0), max(float(limit[low] - relative * size[low]), 0.0)
