"""OpenVINO takes the window's size for the stride."""

import sys

import openvino as ov
import tensorflow as tf


def f(x):
    return tf.nn.max_pool_with_argmax(x, ksize=2, strides=1, padding='SAME')[0]


x = tf.reshape(tf.range(16.0), (1, 4, 4, 1))
expected = f(x).numpy()
config = {"INFERENCE_PRECISION_HINT": "f32"}
model = ov.convert_model(tf.function(f, [tf.TensorSpec(x.shape, x.dtype)]))
actual = ov.compile_model(model, "CPU", config)([x])[0]
print("expected", expected.shape, expected.tolist())
print("actual  ", actual.shape, actual.tolist())
sys.exit(actual.shape != expected.shape)
