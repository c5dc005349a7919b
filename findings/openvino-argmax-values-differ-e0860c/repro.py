"""`ArgMax` passes over NaN, where NumPy finds it."""

import sys

import numpy as np
import onnx.parser
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[3] x) => (int64[1] y) { y = ArgMax (x) }"""
x = np.array([0, np.nan, 1], "float32")
expected = np.array([x.argmax()])
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.array_equal(actual, expected))
