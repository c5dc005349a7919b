"""NaN/Inf mask differs | onnxruntime | LSTM(input_forget=0)

The model, which stands below as a file:

    [lstm] y0, y1 = LSTM <direction: string = \"forward\", hidden_size: int = 4, input_forget: int = 0> (x0, c0, c1, c2)

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
CAg67AcKZgoCeDAKAmMwCgJjMQoCYzISAnkwEgJ5MRoEbHN0bSIETFNUTSoXCglkaXJlY3Rpb24iB2ZvcndhcmSgAQMqEgo
LaGlkZGVuX3NpemUYBKABAioTCgxpbnB1dF9mb3JnZXQYAKABAhIETFNUTSrPAggBCBAIBRABQgJjMErAAtPZB0CVN2Y/Dt
nYP+WQcj83hM48b96gPksPhz/sAog+IlHOP2CI3D5h/cU/J3TtPiZUUz9Xk6I+/xV+PjuqQz/NboI/1OMIQNyqpD0KqPg/u
qk+Pz/d1T5O2p0/Eac1QCanIj+QCug/mU5ZPrp8Wz6mFcI/6eW4Pnr4Zj7UE8Y/M1M+Pws10j8ikRU/oEtDPjLEiD6Aask+
JglQPzc+jj9cco8/EsUvP0o4nj+taqY/A8u0Pe94rj+TgFo/DrVaPRVbRj8Tv5Q/+Di0PU4pIj8eiwo9mvRJP6y7dj/wYN4
+wlPYPoKJGz7KDBY/U4CiP7BfOD1riXc+aFbqPyfSET0dAx4/XdpePsZtjz4w+x0/m+l9P/+XGD8Fjxo/w3q1Pm9olj8Tx/
o+zKrQPCRwHT/XMd49jiK0PmanVj9RK8U/Ko8CCAEIEAgEEAFCAmMxSoAC88OPP8ythz8rkSE+2A4PQO68ZT5PqT8/5e7MP
qh0DD6R/pc/C8EEPUPBvz+1ZJg/WuBnP6agaz5vSnA+sbQVPRXd6T/9uF0/1lAuP2xBlz+V3os/OHe7P3LMFUD5dOc+GJPy
Plw8yT76to8/cU37PI6exj7gfgFAr82WP8Y8mz8CwwU+jo01PYUDWT/CCrs/fboAQEmeuz0oywM+dZdhPwwVIT9KeuM/JdM
1Pel/vz9YE4M/DZf+PfkJEj+FRMc/TIghQOD0lz+3hak/TNwOP8hAgz/7yHE+wdJEPxorXz3A/cU/pVxuP6XyGD+nBbs+LB
7KPndt4z8wftU+5WDVPyqNAQgBCCAQAUICYzJKgAHSWfQ+4YqjP0vTQT8jlqA+4I49PvAjvj6mkEw/Cqx3P+lQJEA2g1xAn
RIKPz95hD7bDEA/fY2fP1DzsD/pJ5c/ZmjcPxwX2T8FyrY/aoljPiAfAz/Ssr4/g7HuPnOR8z98QAM+FrMFPwNAoD8OMfE/
c/SUPC8eQ0Dm6cM+tWkYP1oYCgJ4MBISChAIARIMCgIIBgoCCAIKAggFYhwKAnkwEhYKFAgBEhAKAggGCgIIAQoCCAIKAgg
EYhgKAnkxEhIKEAgBEgwKAggBCgIIAgoCCARqHAoCeTASFgoUCAESEAoCCAYKAggBCgIIAgoCCARqGAoCeTESEgoQCAESDA
oCCAEKAggCCgIIBEIECgAQEg==
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
