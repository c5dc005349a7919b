"""The gradient of a max_pool without results is whatever lies in memory."""

import sys

import numpy as np
import tensorflow as tf

x = tf.zeros((1, 64, 64, 1), tf.float64)


def gradient():
    sevens = [x + 7 for _ in range(4)]  # what lies in memory that is used again
    del sevens
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.nn.max_pool2d(x, 65, 1, "VALID"))  # of shape (1, 0, 0, 1)
    return tape.gradient(total, x).numpy()


expected = np.zeros(20)
actual = np.array([abs(gradient()).max() for _ in range(20)])
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(bool(actual.any()))
