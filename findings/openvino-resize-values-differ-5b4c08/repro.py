"""OpenVINO ignores `exclude_outside` of Resize."""

import sys

import numpy as np
import onnx.parser
import openvino as ov
from onnx.reference import ReferenceEvaluator

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,1,4] x) => (float[1,1,8] y) <int64[3] sizes = {1, 1, 8}> {
   y = Resize <exclude_outside=1, mode="cubic"> (x, "", "", sizes) }"""
x = np.arange(4, dtype="float32")[None, None] ** 2
expected = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(None, {"x": x})[0]
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
