"""A mean whose sum overflows: the order of the sum decides."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,4] x) => (float[1] y) <int64[1] axes = {1}> { y = ReduceMean <keepdims=0> (x, axes) }"""
x = np.array([[3e38, -3e38, 3e38, 3e38]], "float32")
expected = x.mean(axis=1, dtype="float64")
session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
actual = session.run(None, {"x": x})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
