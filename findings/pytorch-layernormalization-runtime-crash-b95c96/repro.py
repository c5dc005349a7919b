"""Keras' LayerNormalization along an inner axis fails on PyTorch."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

x = np.zeros((2, 1, 1, 2), "float32")
print("expected", x.shape)
try:
    actual = keras.layers.LayerNormalization(axis=1)(x)
except RuntimeError as error:
    print("actual  ", type(error).__name__, str(error)[:250])
    sys.exit(1)
print("actual  ", tuple(actual.shape))
