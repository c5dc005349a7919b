"""OpenVINO ignores `keep_aspect_ratio_policy` of Resize."""

import sys

import numpy as np
import onnx.parser
import openvino as ov
from onnx.reference import ReferenceEvaluator

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,1,4,4] x) => (float[1,1,2,2] y) <int64[2] sizes = {2, 8}> { y = Resize <axes=[2,3],
   keep_aspect_ratio_policy="not_larger", mode="linear"> (x, "", "", sizes) }"""
x = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)
expected = ReferenceEvaluator(onnx.parser.parse_model(MODEL)).run(None, {"x": x})[0]
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
