"""How a script decides: 1 while the bug lives, 0 when it is gone, 2 when something else fails.

These are the lines that a script ends with. What they call the bug is what the oracle recorded: a
difference beyond the same tolerance, the same exception, the same kind of death.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.oracle.finding import (
    INTERNAL_ERROR,
    SILENT_ACCEPTANCE,
    WRONG_BUFFERS,
    Finding,
    failed_condition,
    skeleton,
)
from asterism.differential.report.numbers import literal_array
from asterism.differential.report.program_text import Program
from asterism.differential.report.python_text import literal

Arrays = Sequence[NDArray[Any]]

#: Megabytes that the script of a memory blow-up may take on top of what its imports took.
MEMORY_MB = 3000
#: Outputs of more numbers are compared where they differ most.
_SHOWN = 12

#: What :func:`asterism.differential.engine.messages.steady` writes in place of what was said.
_SAID_OTHERWISE = re.compile(r"\b(ADDRESS|NUMBER|NAME)\b|_N\b|…")


@dataclass(frozen=True)
class Right:
    """What is right of a model's outputs, and what came.

    Args:
        expected: right outputs, of float64.
        actual: what the backend to blame gave.
        allowed: tolerated deviation of each element.
        dtypes: that the outputs must have; none where any are right.
    """

    expected: Arrays
    actual: Arrays
    allowed: Arrays
    dtypes: Sequence[str] = ()


def comparing(program: Program, right: Right, reference: str = "") -> list[str]:
    """The lines of a program, and those that compare its outputs with what is right.

    Args:
        program: gives wrong outputs.
        right: what it should give.
        reference: lines that set ``expected``, where the script computes it.
    """
    return [*program.model, *program.runs, *_compared(right, reference)]


def _compared(right: Right, reference: str) -> list[str]:
    expected, actual = right.expected, right.actual
    if len(expected) != len(actual):
        return _decided(f"{len(expected)} outputs", 'f"{len(outputs)} outputs"')
    for at, (one, other) in enumerate(zip(expected, actual, strict=True)):
        if one.shape != other.shape:
            return _decided(one.shape, f"np.shape(outputs[{at}])")
    for at, (dtype, other) in enumerate(zip(right.dtypes, actual, strict=False)):
        if str(other.dtype) != dtype:
            return _decided(dtype, f"str(np.asarray(outputs[{at}]).dtype)")
    at, place = _worst(right)
    whole = expected[at].size <= _SHOWN and bool(np.isfinite(right.allowed[at]).all())
    index = "" if whole or not place else f"[{', '.join(map(str, place))}]"
    chosen = ... if whole else place
    wanted = np.asarray(expected[at][chosen], np.float64)
    relative, absolute = _line_through(wanted, np.asarray(right.allowed[at][chosen]))
    if reference:
        lines = [reference, f"expected = np.asarray(expected[{at}]){index}"]
    else:
        lines = [f"expected = {literal_array(wanted).source}  # by float64"]
    near = f"rtol={relative:.2g}, atol={absolute:.2g}, equal_nan=True"
    return [
        *lines,
        f"actual = np.asarray(outputs[{at}]){index}",
        'print("expected", expected)',
        'print("actual  ", actual)',
        f"sys.exit(int(not np.allclose(actual, expected, {near})))",
    ]


def failing(finding: Finding, program: Program, wanted: str) -> list[str]:
    """The lines of a program that fails, and that compare its end with the recorded one.

    Args:
        finding: a failure.
        program: whose lines fail.
        wanted: what is expected, in words.
    """
    lines = [*program.model, *program.runs]
    told = f"print({literal(f'expected: {wanted}')})"
    if finding.symptom in ("hang", "crash") or (finding.deadly and finding.symptom != "memory"):
        return [told, 'print("actual  : it ends otherwise", flush=True)', *lines, "sys.exit(0)"]
    memory = finding.symptom == "memory"
    limit = _LIMIT.format(bytes=MEMORY_MB * 2**20).splitlines() if memory else []
    name, words = recorded_words(finding)
    recorded = f"type(error).__name__ == {name!r} and all(w in said for w in {words})"
    if memory:
        recorded = 'any(w in said.lower() for w in ("memory", "alloc"))'
    ends, runs = f"1 if {recorded} else 2", 0
    if finding.symptom == SILENT_ACCEPTANCE:  # any exception of the library's is wanted
        ends, runs = "2 if isinstance(error, ImportError) else 0", 1
    if finding.symptom == INTERNAL_ERROR:  # any other one
        ends = f"1 if {recorded} else 2 if isinstance(error, ImportError) else 0"
    body = [f"    {line}" for line in "\n".join(lines).split("\n")]
    return [
        told,
        *limit,
        "try:",
        *body,
        "except BaseException as error:",
        '    said = f"{type(error).__name__}: {error}"',
        '    print("actual  :", said)',
        f"    sys.exit({ends})",
        'print("actual  : it runs")',
        f"sys.exit({runs})",
    ]


def recorded_words(finding: Finding) -> tuple[str, list[str]]:
    """The name of a recorded exception, and words of its message that it always says."""
    if finding.symptom == WRONG_BUFFERS:
        return "WrongBuffersError", []
    condition, rest = failed_condition(finding.message)
    said = (condition, *skeleton(rest).split())
    words = [word for word in said if word and not _SAID_OTHERWISE.search(word)]
    return finding.exception.rpartition(".")[2], words


def _decided(expected: object, actual: str) -> list[str]:
    return [
        f"expected, actual = {literal(expected)}, {actual}",
        'print("expected", expected)',
        'print("actual  ", actual)',
        "sys.exit(int(actual != expected))",
    ]


def _worst(right: Right) -> tuple[int, tuple[int, ...]]:
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


_LIMIT = """import resource
taken = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
limit = taken + {bytes}  # more on top of what the imports took is a blow-up
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))"""
