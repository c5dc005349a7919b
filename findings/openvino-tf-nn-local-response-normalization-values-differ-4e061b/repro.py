"""values differ | openvino | tf.nn.local_response_normalization(). Seen with tensorflow 2.21.0, openvino 2026.4.1; see check.py."""

import numpy as np
import openvino as ov
import tensorflow as tf

inputs = [tf.constant(np.ones((2, 6, 5, 3), 'float32'))]


def f(x):
    return tf.nn.local_response_normalization(x, 1, 1.0, 1.0, 2)


expected = f(*inputs)
print('expected', expected)
signature = [tf.TensorSpec(x.shape, x.dtype) for x in inputs]
function = tf.function(f, input_signature=signature)
model = ov.convert_model(function)
hints = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(model, "CPU", hints)
actual = list(compiled([x.numpy() for x in inputs]).values())
print('actual  ', actual)
