"""keras.ops.add on TensorFlow takes a matrix of no rows for a bias."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

x = np.zeros((0, 6))
print("expected", (x + x).shape)
try:
    actual = keras.ops.add(x, x)
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:150])
    sys.exit(1)
print("actual  ", actual.shape)
