"""OpenVINO keeps the input's last axis in a one-sided DFT of real numbers."""

import sys

import numpy as np
import onnx.parser
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 20]>
f (float[1,6,1] x) => (float[1,4,2] y) <int64 axis = {1}> {
   y = DFT <onesided=1> (x, "", axis) }"""
x = np.arange(6, dtype="float32").reshape(1, 6, 1)
expected = np.fft.rfft(x[..., 0]).astype("complex64").view("float32").reshape(1, 4, 2)
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
