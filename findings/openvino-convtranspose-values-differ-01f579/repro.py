"""OpenVINO pads the wrong side in ConvTranspose with output_shape and SAME_UPPER."""

import sys

import numpy as np
import onnx.parser
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,1,3] x) => (float[1,1,4] y) <float[1,1,3] w = {1, 2, 3}> {
   y = ConvTranspose <auto_pad="SAME_UPPER", output_shape=[4], strides=[2]> (x, w) }"""
x = np.array([[[1, 2, 3]]], "float32")
full = np.array([1, 2, 3 + 2, 4, 6 + 3, 6, 9])  # each number times 1, 2, 3, two apart
expected = full[None, None, 1:5]  # three too many: one cut off before, two after
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
