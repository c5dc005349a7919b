"""XLA's gradient of a resized float16 image has the bits of float32 numbers."""

import sys

import numpy as np
import tensorflow as tf

x = tf.ones((1, 2, 2, 1), tf.float16)


def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.image.resize(x, (4, 4)))
    return tape.gradient(total, x)


expected = gradient(x).numpy()  # 16 results, so each of the 4 pixels counts 4 times
actual = tf.function(gradient, jit_compile=True)(x).numpy()
print("expected", expected.ravel().tolist())
print("actual  ", actual.ravel().tolist())
sys.exit(not np.allclose(actual, expected, 1e-2))
