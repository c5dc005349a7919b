"""OpenVINO computes log_softmax along the last axis, whatever axis is asked for."""

import sys

import numpy as np
import openvino as ov
import tensorflow as tf


def f(x):
    return tf.nn.log_softmax(x, axis=0)


x = tf.constant([[0.0, 1.0], [2.0, 5.0]])
expected = np.log(np.exp(x) / np.exp(x).sum(axis=0))
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(tf.function(f, [tf.TensorSpec(x.shape, x.dtype)]))
actual = ov.compile_model(model, "CPU", config)([x])[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
