"""ONNX Runtime takes odd sizes of LRN alone."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[1,3,1,1] x) => (float[1,3,1,1] y) { y = LRN <size=2> (x) }"""
x = np.ones((1, 3, 1, 1), "float32")
print("expected: it runs")
try:
    session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
    actual = session.run(None, {"x": x})[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
