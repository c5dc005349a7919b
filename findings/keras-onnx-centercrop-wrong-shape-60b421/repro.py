"""The exported CenterCrop leaves out the resize."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import onnxruntime as ort

model = keras.Sequential([keras.Input((1, 1, 1)), keras.layers.CenterCrop(6, 6)])
x = np.ones((2, 1, 1, 1), "float32")
expected = keras.ops.convert_to_numpy(model(x))
model.export("model.onnx", format="onnx", verbose=False)
session = ort.InferenceSession("model.onnx")
actual = session.run(None, {session.get_inputs()[0].name: x})[0]
print("expected", expected.shape)
print("actual  ", actual.shape)
sys.exit(actual.shape != expected.shape)
