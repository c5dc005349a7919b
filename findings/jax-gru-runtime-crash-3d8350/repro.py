"""Keras' GRU fails on JAX once 64-bit numbers are allowed."""

import os
import sys

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np

jax.config.update("jax_enable_x64", True)  # without it the layer runs
layer = keras.layers.GRU(1, use_bias=False)
print("expected", (2, 1))
try:
    actual = layer(np.zeros((2, 1, 1), "float32"))
except TypeError as error:
    print("actual  ", type(error).__name__, str(error)[:250])
    sys.exit(1)
print("actual  ", actual.shape)
