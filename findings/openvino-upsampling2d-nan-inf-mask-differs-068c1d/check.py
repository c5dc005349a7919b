"""NaN/Inf mask differs | openvino | UpSampling2D(dtype=float64)

Seen with keras 3.15.1, onnx 1.23.2, openvino 2026.4.1, tensorflow 2.21.0, tf2onnx 1.17.0.
Exits 1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

import os
import sys
import runpy


def otherwise(kind, error, trace):
    """Say that something else failed, and end with 2."""
    sys.__excepthook__(kind, error, trace)
    print("another failure than the recorded one: it says nothing about the bug")
    sys.exit(2)


sys.excepthook = otherwise


os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

import keras
import numpy as np

EXPECTED = [np.array([np.inf, np.inf, np.inf, np.inf, np.inf, np.inf, np.inf, np.inf], 'float64').reshape((2, 2, 2, 1))]  # a float64 run
TOLERANCES = [np.array([1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38], 'float64').reshape((2, 2, 2, 1))]
DTYPES = ['float64']


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


def main():
    outputs = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'repro.py'))["outputs"]
    outputs = [np.asarray(o) for o in outputs]
    wrong = len(outputs) != len(EXPECTED)
    for actual, expected, tolerance, dtype in zip(outputs, EXPECTED, TOLERANCES, DTYPES):
        print("expected", expected.shape, expected.reshape(-1)[:8])
        print("actual  ", actual.shape, actual.reshape(-1)[:8], actual.dtype, "must be", dtype)
        found = difference(actual, expected, tolerance, dtype)
        print("differs ", *(found or ["no"]))
        wrong |= found is not None
    print("the bug lives" if wrong else "the bug is gone")
    return 1 if wrong else 0


sys.exit(main())
