"""ConvLSTM1D of an empty batch."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

print("expected", (0, 1, 2))
try:
    actual = keras.layers.ConvLSTM1D(2, 1)(np.zeros((0, 1, 1, 3), "float32"))
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:250])
    sys.exit(1)
print("actual  ", actual.shape)
