"""NaN/Inf mask differs | onnxruntime | ReduceMin(keepdims=1)

The model, which stands below as a file:

    [reducemin] y0 = ReduceMin <keepdims: int = 1> (x0, c0)

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
CAg6qgEKMwoCeDAKAmMwEgJ5MBoJcmVkdWNlbWluIglSZWR1Y2VNaW4qDwoIa2VlcGRpbXMYAaABAhIJUmVkdWNlTWluKho
IAhAHQgJjMEoQAAAAAAAAAAACAAAAAAAAAFoYCgJ4MBISChAIARIMCgIIAgoCCAMKAggLYhgKAnkwEhIKEAgBEgwKAggBCg
IIAwoCCAFqGAoCeTASEgoQCAESDAoCCAEKAggDCgIIAUIECgAQEg==
"""
INPUTS = [np.array([-0.3579431176185608, -0.9471489787101746, -1.733511209487915, -0.17403151094913483, -0.6869590878486633, -1.413949728012085, -0.04034478962421417, -1.7679568529129028, -0.23197294771671295, -0.7832752466201782, np.nan, -1.779640555381775, -0.05892942100763321, -1.7846524715423584, 0.05671299993991852, 0.5009922385215759, -0.8749992251396179, 0.9857509732246399, 0.6906751394271851, 1.6110342741012573, 1.7774152755737305, -0.5707240700721741, 1.1539733409881592, 0.46450042724609375, 0.4845280349254608, 0.8295117616653442, 0.14476990699768066, -0.6193269491195679, 0.20760023593902588, 0.4158531725406647, -0.49363747239112854, 0.3696908950805664, 0.639285147190094, 0.7185810208320618, 0.14290757477283478, -0.5144944787025452, 1.7552790641784668, -0.07271464914083481, 2.2797603607177734, -0.6464027166366577, 0.8639777302742004, -0.2746235728263855, -0.621844470500946, np.nan, -0.6806799173355103, -0.9112256765365601, 0.48606982827186584, -0.6560466289520264, 0.25475743412971497, 0.03331781178712845, 0.2174706757068634, -1.5233234167099, -0.6847690343856812, 1.2671613693237305, 0.2307315617799759, -0.39191189408302307, 0.10033668577671051, 1.1330127716064453, 0.12974056601524353, 1.6809401512145996, 1.2233389616012573, 0.16273073852062225, -1.1691478490829468, -0.46636703610420227, -0.6755846738815308, 1.0246739387512207], 'float32').reshape((2, 3, 11))]
EXPECTED = [np.array([np.nan, -1.7846524715423584, -1.1691478490829468], 'float64').reshape((1, 3, 1))]  # a float64 run
TOLERANCES = [np.array([1.0931465751446444e-05, 2.454728355801351e-05, 1.985135595746258e-05], 'float64').reshape((1, 3, 1))]
DTYPES = ['float32']


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
