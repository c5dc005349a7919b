"""ConvLSTM1D of an empty batch in a graph."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

print("expected", (0, 1, 1))
try:
    actual = tf.function(keras.layers.ConvLSTM1D(1, 2))(tf.zeros((0, 1, 2, 1)))
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:250])
    sys.exit(1)
print("actual  ", actual.shape)
