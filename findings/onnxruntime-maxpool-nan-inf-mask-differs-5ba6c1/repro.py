"""Some windows with a NaN become -3.4e38 in ONNX Runtime, others NaN, others their maximum."""

import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
f (float[2,3,9,8] x) => (float[2,3,9,8] y) { y = MaxPool <kernel_shape=[3,3],
   pads=[1,1,1,1]> (x) }"""
x = np.linspace(-1, 1, 432, dtype="float32").reshape(2, 3, 9, 8)
x[1, 2, 8, 7] = np.nan
windows = {"(7, 6)": x[1, 2, 6:9, 5:8], "(7, 7)": x[1, 2, 6:9, 6:8], "(8, 7)": x[1, 2, 7:9, 6:8]}
session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString())
y = session.run(None, {"x": x})[0][1, 2]
for name, window in windows.items():
    print("expected", np.nanmax(window), "or nan of", window.ravel().tolist())
print("actual  ", y[7, 6], y[7, 7], y[8, 7])
sys.exit(not y[7:, 6:].min() < x[1, 2, 6].min())
