"""NaN among the largest numbers."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[4] x) => (float[2] y, int64[2] i) <int64[1] k = {2}> { y, i = TopK <largest=0> (x, k) }"""
x = np.array([np.nan, 3, 1, 2], "float32")
expected = np.sort(x)[:2]
session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
actual = session.run(None, {"x": x})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
