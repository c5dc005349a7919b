"""keras.ops.add on TensorFlow adds (4, 1) to (1, 4, 4) along the wrong axis."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

x, y = np.zeros((1, 4, 4)), np.arange(4.0).reshape(4, 1)
expected = x + y
actual = keras.ops.convert_to_numpy(keras.ops.add(x, y))
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.array_equal(actual, expected))
