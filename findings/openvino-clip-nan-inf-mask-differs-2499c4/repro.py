"""`Clip` of NaN is the lower bound."""

import sys

import numpy as np
import onnx.parser
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[3] x) => (float[3] y) <float low = {0}, float high = {1}> { y = Clip (x, low, high) }"""
x = np.array([np.nan, 1, 2], "float32")
expected = np.clip(x, 0, 1)
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
