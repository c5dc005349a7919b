"""A mean of numbers whose float32 sum overflows."""

import sys

import numpy as np
import tensorflow as tf

x = np.array([3e38, 3e38], "float32")
expected = np.mean(x, dtype="float32")
actual = tf.reduce_mean(tf.cast(x, tf.float64)).numpy()
print("expected", expected, "as in float32")
print("actual  ", actual)
sys.exit(bool(actual != expected))
