"""Hardmax of NaN."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[3] x) => (float[3] y) { y = Hardmax <axis=0> (x) }"""
x = np.array([0, 1, np.nan], "float32")
expected = np.eye(3)[x.argmax()]
session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
actual = session.run(None, {"x": x})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.array_equal(actual, expected))
