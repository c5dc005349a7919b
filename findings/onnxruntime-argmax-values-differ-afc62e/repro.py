"""ArgMax passes over NaN, where NumPy finds it."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[2,2] x) => (int64[2,1] y) { y = ArgMax <axis=1> (x) }"""
x = np.array([[1, 2], [3, np.nan]], "float32")
expected = x.argmax(axis=1, keepdims=True)
session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
actual = session.run(None, {"x": x})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.array_equal(actual, expected))
