"""A float16 CenterCrop puts out float32 where it resizes."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

layer = keras.layers.CenterCrop(6, 6, dtype="float16")
actual = layer(np.ones((1, 2, 2, 1), "float16"))
print("expected", layer.compute_dtype)
print("actual  ", actual.dtype.name)
sys.exit(actual.dtype.name != layer.compute_dtype)
