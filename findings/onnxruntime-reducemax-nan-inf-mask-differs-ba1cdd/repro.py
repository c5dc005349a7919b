"""ONNX Runtime's ReduceMax keeps NaN where it is the first number of a row, and loses it elsewhere."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

MODEL = """<ir_version: 8, opset_import: ["" : 13]>
f (float[2,2] x) => (float[2] y) { y = ReduceMax <axes=[1], keepdims=0> (x) }"""
x = np.array([[np.nan, 1], [1, np.nan]], "float32")
session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
actual = session.run(None, {"x": x})[0]
print("expected", x.max(1).tolist())
print("actual  ", actual.tolist())
sys.exit(bool(np.isnan(actual[0]) != np.isnan(actual[1])))
