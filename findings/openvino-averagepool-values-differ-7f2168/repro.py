"""OpenVINO divides by cells beyond the padding in AveragePool."""

import sys

import numpy as np
import onnx.parser
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 19]>
f (float[1,1,4] x) => (float[1,1,3] y) { y = AveragePool <kernel_shape=[3], strides=[2],
   pads=[1,1], ceil_mode=1, count_include_pad=1> (x) }"""
x = np.ones((1, 1, 4), "float32")
expected = np.array([[[2 / 3, 3 / 3, 1 / 2]]])  # the last window has a number and a padded cell
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
