"""The logarithm of ONNX Runtime's Sigmoid is off by 0.07 at -14; see check.py."""

import numpy as np
import onnx.parser
import onnxruntime as ort

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[3] x) => (float[3] y) { s = Sigmoid (x)  y = Log (s) }"""
x = np.array([-13.0, -14.0, -15.0], "float32")
expected = -np.log1p(np.exp(-x.astype("float64"))).astype("float32")  # rounding: 0.000001
print("expected", expected)
session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
actual = session.run(None, {"x": x})[0]
print("actual  ", actual)
