"""`MaxPool` of NaN alone is the lowest number."""

import sys

import numpy as np
import onnx.parser
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,1,1] x) => (float[1,1,1] y) { y = MaxPool <kernel_shape=[1]> (x) }"""
x = np.full((1, 1, 1), np.nan, "float32")
expected = x
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
