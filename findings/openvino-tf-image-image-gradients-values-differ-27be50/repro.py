"""OpenVINO's difference of uint8 numbers stops at 0."""

import sys

import numpy as np
import openvino as ov
import tensorflow as tf


def f(x):
    return x[1:] - x[:-1]


x = tf.constant([3, 1, 2], tf.uint8)
expected = f(x).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(tf.function(f, [tf.TensorSpec(x.shape, x.dtype)]))
actual = ov.compile_model(model, "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.array_equal(actual, expected))
