"""XLA's gradient of a resized float16 image has the bits of float32 numbers; see check.py."""

import tensorflow as tf

x = tf.ones((1, 2, 2, 1), tf.float16)


def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.image.resize(x, (4, 4)))
    return tape.gradient(total, x)


expected = gradient(x)  # 16 results, so each of the 4 pixels counts 4 times
print("expected", expected.numpy().tolist())
actual = tf.function(gradient, jit_compile=True)(x)
print("actual  ", actual.numpy().tolist())
