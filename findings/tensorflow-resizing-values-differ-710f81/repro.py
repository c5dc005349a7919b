"""XLA's bilinear resize takes the next row where a row is met exactly."""

import sys

import numpy as np
import tensorflow as tf


def f(x):
    return tf.image.resize(x, (9, 1))


x = tf.reshape(tf.range(5.0), (1, 5, 1, 1))
expected = np.clip((np.arange(9) + 0.5) * 5 / 9 - 0.5, 0, 4)  # the middle, row 4, is x[2]
actual = tf.function(f, jit_compile=True)(x).numpy().ravel()
print("expected", expected.round(2))
print("expected, as eagerly:", f(x).numpy().ravel().round(2))
print("actual  ", actual.round(2))
sys.exit(not np.allclose(actual, expected, atol=1e-3))
