"""TimeDistributed takes the batch size for the steps where these are free; see check.py."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

layer = keras.layers.TimeDistributed(keras.layers.Dense(3))
model = keras.Sequential([keras.Input((None, 1)), layer])
x = np.ones((2, 5, 1), "float32")  # two items of five steps
expected = np.asarray(model(x))
print("expected", expected.shape)
function = tf.function(model, input_signature=[tf.TensorSpec((None, None, 1))])
actual = function(x).numpy()
print("actual  ", actual.shape)
