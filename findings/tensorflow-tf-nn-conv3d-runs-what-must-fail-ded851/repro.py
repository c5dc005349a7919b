"""TensorFlow's eager conv3d reads beyond its input where a dilated kernel does not fit."""

import sys

import numpy as np
import tensorflow as tf

x, kernel = tf.ones((1, 3, 5, 5, 2)), tf.ones((2, 2, 2, 2, 2))  # with dilation 3 it spans 4 of 3


def f(x):
    return tf.nn.conv3d(x, kernel, [1] * 5, "VALID", dilations=[1, 3, 3, 3, 1])


print("expected", "depth ceil((3 - (2 - 1) * 3) / 1) = 0, or an exception")
try:
    tf.function(f)(x)
except ValueError as error:
    print("expected, as in a graph:", str(error).split("ValueError: ")[-1][:120])
actual = f(x).numpy()
print("actual  ", actual.shape, "from", actual.min(), "to", actual.max(), "for a sum of 16 ones")
sys.exit(actual.shape[1] != 0)
