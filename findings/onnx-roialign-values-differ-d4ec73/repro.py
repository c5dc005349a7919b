"""ONNX's reference evaluator gives 0.5625 for the largest of ones."""

import sys

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

MODEL = """<ir_version: 8, opset_import: ["" : 16]>
f (float[1,1,4,4] x, float[1,4] rois, int64[1] batch) => (float[1,1,1,1] y)
{ y = RoiAlign <mode = "max", sampling_ratio = 2> (x, rois, batch) }"""
x, roi = np.ones((1, 1, 4, 4), "float32"), np.array([[0, 0, 3, 3]], "float32")
expected = x.max()
session = ReferenceEvaluator(onnx.parser.parse_model(MODEL))
actual = session.run(None, {"x": x, "rois": roi, "batch": np.zeros(1, "int64")})[0]
print("expected", expected)
print("actual  ", actual.item())
sys.exit(not np.allclose(actual, expected))
