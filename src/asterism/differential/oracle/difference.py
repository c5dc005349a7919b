"""Comparing one output with its reference: the oracle does it, and so does every reproducer.

A reproducer holds the source of :func:`difference`, which therefore needs numpy and nothing else.
"""

import numpy as np


def difference(
    actual: np.ndarray, expected: np.ndarray, tolerance: np.ndarray, dtype: str
) -> tuple[str, float] | None:
    """The worst kind of difference of an output from a float64 reference; None where they agree.

    With it comes how far off the output is: of values the largest deviation as a multiple of its
    tolerance, of a NaN/Inf mask the number of its elements that differ, else 0.
    """
    if actual.shape != expected.shape:
        return "wrong shape", 0.0
    if str(actual.dtype) != dtype:
        return "wrong dtype", 0.0
    with np.errstate(all="ignore"):
        # What is finite in float64 may be too large for the dtype: no library is to blame.
        # Nor is one where nothing decides what is right, so that any deviation is tolerated.
        largest = np.finfo(actual.dtype).max if actual.dtype.kind == "f" else np.inf
        judged = ~(np.isfinite(expected) & (np.abs(expected) > largest / 4)) & (tolerance < np.inf)
        wrong = np.isnan(actual) != np.isnan(expected)
        wrong |= np.isinf(actual) != np.isinf(expected)
        wrong |= np.isinf(expected) & ((actual > 0) != (expected > 0))
        compared = judged & np.isfinite(actual) & np.isfinite(expected)
        deviation = np.where(compared, np.abs(actual.astype("float64") - expected), 0.0)
        excess = float(np.max(deviation / tolerance, initial=0.0))
    if (wrong & judged).any():
        return "NaN/Inf mask differs", float((wrong & judged).sum())
    return ("values differ", excess) if excess > 1 else None
