"""OpenVINO keeps a window that starts beyond the input."""

import sys

import numpy as np
import onnx.parser
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 19]>
f (float[1,1,4] x) => (float[1,1,N] y) { y = MaxPool <ceil_mode=1, kernel_shape=[1],
   strides=[2]> (x) }"""
x = np.array([[[0, 1, 2, 3]]], "float32")
expected = x[..., ::2]  # windows of one number at 0 and 2; the next one would start at 4
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
