"""The gradient of a max_pool without results is whatever lies in memory, not 0; see check.py."""

import numpy as np
import tensorflow as tf

x = tf.zeros((1, 64, 64, 1), tf.float64)


def gradient():
    sevens = [x + 7 for _ in range(4)]  # what lies in memory that is used again
    del sevens
    with tf.GradientTape() as tape:
        tape.watch(x)
        pooled = tf.nn.max_pool2d(x, ksize=65, strides=1, padding="VALID")
        total = tf.reduce_sum(pooled)
    assert pooled.shape == (1, 0, 0, 1)
    return tape.gradient(total, x).numpy()


expected = np.zeros((20, *x.shape))
print("expected: each of 20 gradients is 0")
actual = np.array([gradient() for _ in range(20)])
print("actual:", sum(g.any() for g in actual), "of them are not")
