"""`Shrink` keeps NaN, where the letter of ONNX says 0."""

import sys

import numpy as np
import onnx.parser
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[3] x) => (float[3] y) { y = Shrink <bias=0.1, lambd=0.5> (x) }"""
x = np.array([np.nan, 1, 2], "float32")
expected = np.where(x < -0.5, x + 0.1, np.where(x > 0.5, x - 0.1, 0)).astype("float32")
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
