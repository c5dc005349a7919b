"""ONNX Runtime loses NaN in ReduceMax for some axes."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

MODEL = """<ir_version: 8, opset_import: ["" : 13]>
f (float[2,3,11] x) => (float[3] y) { y = ReduceMax <axes=[0,2], keepdims=0> (x) }"""
x = np.arange(66, dtype="float32").reshape(2, 3, 11)
x[1, 2, 10] = np.nan
expected = x.max(axis=(0, 2))
session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
actual = session.run(None, {"x": x})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
