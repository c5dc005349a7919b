"""The imaginary part of a real number is that number in OpenVINO."""

import sys

import numpy as np
import openvino as ov
import tensorflow as tf


def f(x):
    return tf.math.imag(x)


x = tf.constant([1.0, 2.0])
expected = np.imag(x.numpy())
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(tf.function(f, [tf.TensorSpec(x.shape, x.dtype)]))
actual = ov.compile_model(model, "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
