"""A default LayerNormalization cannot be exported to ONNX from the PyTorch backend."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import contextlib
import keras
import numpy as np

model = keras.Sequential([keras.Input((16,)), keras.layers.LayerNormalization()])
print("expected", keras.ops.convert_to_numpy(model(np.zeros((2, 16), "float32"))).shape)
try:
    with contextlib.redirect_stdout(sys.stderr):  # the exporter prints its graph
        model.export("model.onnx", format="onnx", verbose=False)
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:250])
    sys.exit(1)
print("actual   it is exported")
