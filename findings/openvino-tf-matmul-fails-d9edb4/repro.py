"""OpenVINO cannot compile a product over an axis of size zero."""

import sys

import openvino as ov
import tensorflow as tf


def f(x, y):
    return tf.matmul(x, y)


x, y = tf.zeros((3, 0), tf.int32), tf.zeros((0, 2), tf.int32)
expected = f(x, y).numpy()
print("expected", expected.tolist())
try:
    model = ov.convert_model(tf.function(f, [tf.TensorSpec(v.shape, v.dtype) for v in (x, y)]))
    actual = ov.compile_model(model, "CPU")([x, y])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
