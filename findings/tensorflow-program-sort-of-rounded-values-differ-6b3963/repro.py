"""A stable argsort of 0 and -0, which are equal: XLA swaps them."""

import sys

import tensorflow as tf

x = tf.constant([0.0, -0.0])
expected = tf.argsort(x, stable=True).numpy()
actual = tf.function(lambda x: tf.argsort(x, stable=True), jit_compile=True)(x).numpy()
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(bool((actual != expected).any()))
