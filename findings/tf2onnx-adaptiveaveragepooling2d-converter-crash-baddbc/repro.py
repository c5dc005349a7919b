"""Keras' AdaptiveAveragePooling2D to one number fails in a graph of TensorFlow."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

x = tf.reshape(tf.range(4.0), (1, 2, 2, 1))
layer = keras.layers.AdaptiveAveragePooling2D(1)
print("expected", tf.reduce_mean(x).numpy())
try:
    actual = tf.function(layer)(x)
except ValueError as error:
    print("actual  ", *(line.strip() for line in str(error).splitlines() if "dimension" in line))
    sys.exit(1)
print("actual  ", actual.numpy())
