"""OpenVINO swaps height and width of MaxPool's indices with storage_order=1."""

import sys

import numpy as np
import onnx.parser
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,1,2,3] x) => (float[1,1,2,3] y, int64[1,1,2,3] i) {
   y, i = MaxPool <kernel_shape=[1,1], storage_order=1> (x) }"""
x = np.arange(6, dtype="float32").reshape(1, 1, 2, 3)
expected = np.arange(6).reshape(3, 2).T[None, None]  # each number's place, counted by columns
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[1]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
