"""A sum over no segments cannot be compiled by XLA."""

import sys

import tensorflow as tf


def f(x):
    return tf.math.unsorted_segment_sum(x, [-1, -1], 0)


x = tf.zeros((2, 3))
print("expected", f(x).shape)
try:
    actual = tf.function(f, jit_compile=True)(x)
except Exception as error:
    print("actual  ", type(error).__name__, str(error).split("\n")[0])
    sys.exit(1)
print("actual  ", actual.shape)
