"""ONNX Runtime's Sigmoid is 7% too small at -14 and 0 from -18 on."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[3] x) => (float[3] y) { y = Sigmoid (x) }"""
x = np.array([-13, -14, -18], "float32")
expected = 1 / (1 + np.exp(-x.astype("float64")))
session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
actual = session.run(None, {"x": x})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
