"""NaN/Inf mask differs | onnxruntime | GRU()

The model, which stands below as a file:

    [gru] y0, y1 = GRU <direction: string = \"forward\", hidden_size: int = 4, linear_before_reset: int = 0> (x0, c0, c1, c2)

Exits 1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

import base64
import os
import sys
import tempfile

def otherwise(kind, error, trace):
    """Say that something else failed, and end with 2."""
    sys.__excepthook__(kind, error, trace)
    print("another failure than the recorded one: it says nothing about the bug")
    sys.exit(2)


sys.excepthook = otherwise


import numpy as np


def run(path, inputs):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs)))


MODEL = """
CAg6vgYKawoCeDAKAmMwCgJjMQoCYzISAnkwEgJ5MRoDZ3J1IgNHUlUqFwoJZGlyZWN0aW9uIgdmb3J3YXJkoAEDKhIKC2h
pZGRlbl9zaXplGASgAQIqGgoTbGluZWFyX2JlZm9yZV9yZXNldBgAoAECEgNHUlUq/wEIAQgMCAUQAUICYzBK8AF5js8/EE
/nP0TxlT4DqWM/ndVNPxJJ5z5yqkA+7H7AP9WEFj4WNSc+FKpwP2R6uz7xqbA/L3dtPkmBTT9TrJI+E8+rPir6IT9vXZg/b
qPkPXcdMD9qlWw/mXiBP9fPTD/TFzM/+cRmP7Auyj6YqS0+pYHQPgnkqT8/75w+u4nmP2Lbqj4F50I/jOPPP6f0bz4jvGU/
XFaMPnTxxjybAHM/iTI/P+qo8D2EdBQ/usKcPypGuz/bPKs+ZhsFQI/j7j59M8Q/6N0bQPtAoT+0Kas/BwE/P3JMEz5F+zo
/f+caQN2nuD2FiSVAK2vQP4O7Tz4qzwEIAQgMCAQQAUICYzFKwAHzkHU/mWoRQFhtrz8GKxFALu0MPwsNoD9Lri4/XvsgPb
es4D1krLg/aAKSPhyvtz+1TmM947e/PpiCrz6J5+c+ZIFYP10ZWT8lPnk/8J+RP+Z3zD67w6k/dxTWP9jJMT+OFRY/5Fb8O
70j9D8eN7E/mIK+PuTLkj6l1wQ/x40vP6ZG0T9YP/s+E82CPxKuGz8EtOA+UA/OPaIhLD9t48E9swszPgJCIT+wdHY+1cMY
QPJDVD98eA0+oP2IPnbQXT8qbAgBCBgQAUICYzJKYBH20T/BHqA7ioeuP/u5Wz8Nd9Q95J+TP/Fjwz3K0NE/KMb8PQGmHT4
x2Ag/8qAbPtLthT+9JI08rH5/P3eQbD8IGoo/mSQ2PzLJ7z7TCwA+dtK4PjjCxz5IEG4/OvR7P1oYCgJ4MBISChAIARIMCg
IIBgoCCAIKAggFYhwKAnkwEhYKFAgBEhAKAggGCgIIAQoCCAIKAggEYhgKAnkxEhIKEAgBEgwKAggBCgIIAgoCCARqHAoCe
TASFgoUCAESEAoCCAYKAggBCgIIAgoCCARqGAoCeTESEgoQCAESDAoCCAEKAggCCgIIBEIECgAQEg==
"""
INPUTS = [np.array([np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan], 'float32').reshape((6, 2, 5))]
EXPECTED = [np.array([np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan], 'float64').reshape((6, 1, 2, 4)), np.array([np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan], 'float64').reshape((1, 2, 4))]  # a float64 run
TOLERANCES = [np.array([1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38], 'float64').reshape((6, 1, 2, 4)), np.array([1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38, 1.1754943508222875e-38], 'float64').reshape((1, 2, 4))]
DTYPES = ['float32', 'float32']


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
        largest = np.finfo(actual.dtype).max if actual.dtype.kind == "f" else np.inf
        judged = ~(np.isfinite(expected) & (np.abs(expected) > largest / 4))
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
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "model.onnx")
    open(path, "wb").write(base64.b64decode(MODEL))
    outputs = run(path, INPUTS)
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
