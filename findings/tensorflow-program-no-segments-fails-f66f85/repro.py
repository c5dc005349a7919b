"""fails | tensorflow | program no segments(). Seen with tensorflow 2.21.0; see check.py."""

import numpy as np
import tensorflow as tf

inputs = [tf.constant(np.zeros((4, 6), 'float32')), tf.constant(np.zeros((4, 6), 'float32'))]


def f(x, y):
    return tf.math.unsorted_segment_sum(x, tf.zeros((4,), tf.int32) - 1, 0)


expected = f(*inputs)
print('expected', expected)
actual = tf.function(f, jit_compile=True)(*inputs)
print('actual  ', actual)
