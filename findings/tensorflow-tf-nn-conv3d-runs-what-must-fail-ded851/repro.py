"""TensorFlow's eager conv3d runs where a dilated kernel does not fit; see check.py."""

import tensorflow as tf

x, kernel = tf.ones((1, 3, 5, 5, 2)), tf.ones((2, 2, 2, 2, 2))  # with dilation 3 a kernel spans 4


def f(x):
    return tf.nn.conv3d(x, kernel, [1] * 5, "VALID", dilations=[1, 3, 3, 3, 1])


try:
    expected = tf.function(f)(x)
except ValueError as error:
    print("expected", str(error)[-300:])
actual = f(x)
print("actual  ", actual.shape, actual)
