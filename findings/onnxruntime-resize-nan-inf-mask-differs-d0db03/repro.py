"""Infinity times a weight of zero."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,1,4] x) => (float[1,1,2] y) <int64[3] sizes = {1, 1, 2}> {
   y = Resize <antialias=1, mode="linear"> (x, "", "", sizes) }"""
x = np.array([[[0, 0, 0, np.inf]]], "float32")
expected = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(None, {"x": x})[0]
session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
actual = session.run(None, {"x": x})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
