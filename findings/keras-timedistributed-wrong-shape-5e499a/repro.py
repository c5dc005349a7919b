"""TimeDistributed takes the batch size for the number of steps where these are free."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

layer = keras.layers.TimeDistributed(keras.layers.Dense(3))
model = keras.Sequential([keras.Input((None, 1)), layer])
x = np.ones((2, 5, 1), "float32")  # two items of five steps
expected = model(x).numpy()
function = tf.function(model, input_signature=[tf.TensorSpec((None, None, 1))])
actual = function(x).numpy()
print("expected", expected.shape)
print("actual  ", actual.shape)
sys.exit(actual.shape != expected.shape)
