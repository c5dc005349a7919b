"""NaN/Inf mask differs | onnxruntime | TopK()

The model, which stands below as a file:

    [topk] y0, y1 = TopK <axis: int = -1, largest: int = 0> (x0, c0)

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
CAg64AEKQgoCeDAKAmMwEgJ5MBICeTEaBHRvcGsiBFRvcEsqFAoEYXhpcxj///////////8BoAECKg4KB2xhcmdlc3QYAKA
BAhIEVG9wSyoSCAEQB0ICYzBKCAQAAAAAAAAAWhgKAngwEhIKEAgBEgwKAggCCgIIAwoCCAtiGAoCeTASEgoQCAESDAoCCA
IKAggDCgIIBGIYCgJ5MRISChAIBxIMCgIIAgoCCAMKAggEahgKAnkwEhIKEAgBEgwKAggCCgIIAwoCCARqGAoCeTESEgoQC
AcSDAoCCAIKAggDCgIIBEIECgAQEg==
"""
INPUTS = [np.array([np.nan, -0.9692307710647583, -0.9384615421295166, -0.9076923131942749, -0.8769230842590332, -0.8461538553237915, -0.8153846263885498, -0.7846153974533081, -0.7538461685180664, -0.7230769395828247, -0.692307710647583, -0.6615384817123413, -0.6307692527770996, -0.6000000238418579, -0.5692307949066162, -0.5384615659713745, -0.5076923370361328, -0.4769230782985687, -0.446153849363327, -0.4153846204280853, -0.38461539149284363, -0.35384616255760193, -0.32307693362236023, -0.29230770468711853, -0.26153847575187683, -0.23076923191547394, -0.20000000298023224, -0.16923077404499054, -0.13846154510974884, -0.10769230872392654, -0.07692307978868484, -0.04615384712815285, -0.015384615398943424, 0.015384615398943424, 0.04615384712815285, 0.07692307978868484, 0.10769230872392654, 0.13846154510974884, 0.16923077404499054, 0.20000000298023224, 0.23076923191547394, 0.26153847575187683, 0.29230770468711853, 0.32307693362236023, 0.35384616255760193, 0.38461539149284363, 0.4153846204280853, 0.446153849363327, 0.4769230782985687, 0.5076923370361328, 0.5384615659713745, 0.5692307949066162, 0.6000000238418579, 0.6307692527770996, 0.6615384817123413, 0.692307710647583, 0.7230769395828247, 0.7538461685180664, 0.7846153974533081, 0.8153846263885498, 0.8461538553237915, 0.8769230842590332, 0.9076923131942749, 0.9384615421295166, 0.9692307710647583, 1.0], 'float32').reshape((2, 3, 11))]
EXPECTED = [np.array([-0.9692307710647583, -0.9384615421295166, -0.9076923131942749, -0.8769230842590332, -0.6615384817123413, -0.6307692527770996, -0.6000000238418579, -0.5692307949066162, -0.32307693362236023, -0.29230770468711853, -0.26153847575187683, -0.23076923191547394, 0.015384615398943424, 0.04615384712815285, 0.07692307978868484, 0.10769230872392654, 0.35384616255760193, 0.38461539149284363, 0.4153846204280853, 0.446153849363327, 0.692307710647583, 0.7230769395828247, 0.7538461685180664, 0.7846153974533081], 'float64').reshape((2, 3, 4)), np.array([1, 2, 3, 4, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], 'int64').reshape((2, 3, 4))]  # a float64 run
TOLERANCES = [np.array([1.2401290602332954e-05, 1.2166540015363642e-05, 1.193178942839433e-05, 1.1697038841425017e-05, 1.0053784732639831e-05, 9.819034145670519e-06, 9.584283558701207e-06, 9.349532971731894e-06, 7.471528048603721e-06, 7.236777461634408e-06, 7.002026874665096e-06, 6.767276174008946e-06, 5.12402195864235e-06, 5.358772566927944e-06, 5.593523182318966e-06, 5.828273769288278e-06, 7.706278635573033e-06, 7.941029222542345e-06, 8.175779809511658e-06, 8.41053039648097e-06, 1.0288535319609143e-05, 1.0523285906578456e-05, 1.0758036493547768e-05, 1.099278708051708e-05], 'float64').reshape((2, 3, 4)), np.array([2.320283090453579e-05, 3.0832225435785794e-05, 3.8461619967035794e-05, 4.6091014498285794e-05, 1.557343637328579e-05, 2.320283090453579e-05, 3.0832225435785794e-05, 3.8461619967035794e-05, 1.557343637328579e-05, 2.320283090453579e-05, 3.0832225435785794e-05, 3.8461619967035794e-05, 1.557343637328579e-05, 2.320283090453579e-05, 3.0832225435785794e-05, 3.8461619967035794e-05, 1.557343637328579e-05, 2.320283090453579e-05, 3.0832225435785794e-05, 3.8461619967035794e-05, 1.557343637328579e-05, 2.320283090453579e-05, 3.0832225435785794e-05, 3.8461619967035794e-05], 'float64').reshape((2, 3, 4))]
DTYPES = ['float32', 'int64']


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
