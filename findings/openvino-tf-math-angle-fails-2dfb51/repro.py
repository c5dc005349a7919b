"""OpenVINO cannot compile angle of no numbers."""

import sys

import openvino as ov
import tensorflow as tf


def f(x):
    return tf.math.angle(x)


x = tf.zeros((0, 3))
expected = f(x).numpy()
print("expected", expected.tolist())
try:
    model = ov.convert_model(tf.function(f, [tf.TensorSpec(x.shape, x.dtype)]))
    actual = ov.compile_model(model, "CPU")([x])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
