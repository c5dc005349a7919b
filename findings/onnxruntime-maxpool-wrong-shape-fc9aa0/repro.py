"""ONNX Runtime's MaxPool with SAME and a dilation is too short."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

MODEL = """<ir_version: 8, opset_import: ["" : 19]>
f (float[1,1,5] x) => (float[1,1,5] y) { y = MaxPool <auto_pad="SAME_UPPER", dilations=[2],
   kernel_shape=[2]> (x) }"""
x = np.array([[[0, 1, 2, 3, 4]]], "float32")
expected = np.array([[[1, 2, 3, 4, 3]]])  # as long as x; one padded cell at each end
session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
actual = session.run(None, {"x": x})[0]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
