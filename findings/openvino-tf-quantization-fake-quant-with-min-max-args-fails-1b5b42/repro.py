"""OpenVINO cannot compile a fake quantisation of 16 bits."""

import sys

import openvino as ov
import tensorflow as tf


def f(x):
    return tf.quantization.fake_quant_with_min_max_args(x, -1.0, 1.0, num_bits=16)


x = tf.constant([0.5])
expected = f(x).numpy()
print("expected", expected.tolist())
try:
    model = ov.convert_model(tf.function(f, [tf.TensorSpec(x.shape, x.dtype)]))
    actual = ov.compile_model(model, "CPU")([x])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
