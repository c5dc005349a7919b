"""NaN in one channel reaches the other one in a depthwise convolution of float64."""

import os
import sys

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np

jax.config.update("jax_enable_x64", True)
x = np.array([[[np.nan, 1.0]]])
layer = keras.layers.DepthwiseConv1D(1, dtype="float64")
expected = x * np.array([1, 1])
layer.build(x.shape)
layer.set_weights([np.ones((1, 2, 1)), np.zeros(2)])
actual = keras.ops.convert_to_numpy(layer(x))
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
