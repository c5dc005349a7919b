"""A Keras layer of float64 puts out float32 on PyTorch."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

x = np.zeros((2, 1, 5), "float32")
actual = keras.layers.Dot(axes=-1, dtype="float64")([x, x])
print("expected float64")
print("actual  ", actual.dtype)
sys.exit("float64" not in str(actual.dtype))
