"""OpenVINO ignores the axes of ReduceL1 before opset 18."""

import sys

import numpy as np
import onnx.parser
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 13]>
f (float[2,3] x) => (float[2] y) { y = ReduceL1 <axes=[1], keepdims=0> (x) }"""
x = np.array([[1, 2, 3], [4, 5, 6]], "float32")
expected = np.abs(x).sum(axis=1)
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
