"""Keras' AdaptiveMaxPooling2D with output size 1 ends the process on TensorFlow."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

x = np.arange(6, dtype="float32").reshape((1, 3, 2, 1))
print("expected", x.max(axis=(1, 2)).tolist())
print("actual  ", keras.layers.AdaptiveMaxPooling2D(1)(x).numpy().ravel().tolist())
