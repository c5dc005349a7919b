"""Keras on PyTorch exports an invalid ONNX model of a recurrent layer that goes backwards."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import onnxruntime as ort

keras.utils.set_random_seed(0)
layer = keras.layers.Bidirectional(keras.layers.SimpleRNN(1))
model = keras.Sequential([keras.Input((3, 1)), layer])
x = np.ones((1, 3, 1), "float32")
print("expected", keras.ops.convert_to_numpy(model(x)).tolist())
model.export("model.onnx", format="onnx", verbose=False)
try:
    session = ort.InferenceSession("model.onnx")
    actual = session.run(None, {session.get_inputs()[0].name: x})[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:250])
    sys.exit(1)
print("actual  ", actual.tolist())
