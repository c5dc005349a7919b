"""A default LayerNormalization cannot be exported to ONNX from the PyTorch backend."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import onnxruntime as ort

model = keras.Sequential([keras.Input((4,)), keras.layers.LayerNormalization()])
x = np.arange(4, dtype="float32")[None]
expected = keras.ops.convert_to_numpy(model(x))
try:
    model.export("model.onnx", format="onnx", verbose=False)
    session = ort.InferenceSession("model.onnx")
    actual, fails = session.run(None, {session.get_inputs()[0].name: x})[0].tolist(), False
except Exception as error:  # the exporter has printed its graph by now
    actual, fails = " ".join([type(error).__name__, *str(error).split()])[:400], True
print("expected", expected.tolist())
print("actual  ", actual)
sys.exit(fails)
