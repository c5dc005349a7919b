"""OpenVINO's window of odd radius is two channels too narrow."""

import sys

import numpy as np
import openvino as ov
import tensorflow as tf


def f(x):
    return tf.nn.local_response_normalization(x, depth_radius=1, bias=1, alpha=1, beta=1)


x = tf.ones((1, 1, 1, 3))
expected = 1 / (1 + np.array([[[[2, 3, 2]]]]))  # each channel with its neighbours
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(tf.function(f, [tf.TensorSpec(x.shape, x.dtype)]))
actual = ov.compile_model(model, "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
