"""values differ | tensorflow | program sort of rounded(). Seen with tensorflow 2.21.0; see check.py."""

import numpy as np
import tensorflow as tf

inputs = [
    tf.constant(np.random.default_rng(0).normal(size=(4, 6)).astype('float32')),
    tf.constant(np.random.default_rng(1).normal(size=(4, 6)).astype('float32')),
]


def f(x, y):
    return tf.argsort(tf.round(x), 1, stable=True) + tf.cast(y > 0, tf.int32)


expected = f(*inputs)
print('expected', expected)
actual = tf.function(f, jit_compile=True)(*inputs)
print('actual  ', actual)
