"""OpenVINO rejects the equation `ii` without an arrow."""

import sys

import numpy as np
import onnx.parser
import openvino as ov

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[2,2] x) => (float y) { y = Einsum <equation="ii"> (x) }"""
x = np.array([[1, 2], [3, 4]], "float32")
expected = np.einsum("ii", x)  # the trace
print("expected", expected.tolist())
try:
    onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
    actual = ov.compile_model("model.onnx", "CPU")([x])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
