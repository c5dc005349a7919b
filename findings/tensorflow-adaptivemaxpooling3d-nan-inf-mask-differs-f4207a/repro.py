"""A maximum over a window of NaN is the lowest number in TensorFlow."""

import sys

import numpy as np
import tensorflow as tf

x = tf.fill((1, 1, 1, 1, 1), np.nan)
expected = np.max(x)
actual = tf.nn.max_pool3d(x, 1, 1, "VALID").numpy().item()
print("expected", expected)
print("actual  ", actual)
sys.exit(not np.isnan(actual))
