"""OpenVINO ignores `antialias` of Resize."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,1,8] x) => (float[1,1,4] y) <int64[3] sizes = {1, 1, 4}> {
   y = Resize <antialias=1, mode="linear"> (x, "", "", sizes) }"""
x = np.arange(8, dtype="float32")[None, None] ** 2
model = onnx.parser.parse_model(MODEL).SerializeToString()
expected = ort.InferenceSession(model).run(None, {"x": x})[0]
config = {"INFERENCE_PRECISION_HINT": "f32"}
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
actual = ov.compile_model("model.onnx", "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
