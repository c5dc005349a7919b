"""fails | openvino | tf.matmul(dtype of x=int32, dtype of y=int32). Seen with tensorflow 2.21.0, openvino 2026.4.1; see check.py."""

import numpy as np
import openvino as ov
import tensorflow as tf

inputs = [tf.constant(np.zeros((3, 0), 'int32')), tf.constant(np.zeros((0, 2), 'int32'))]


def f(x, y):
    return tf.matmul(x, y)


expected = f(*inputs)
print('expected', expected)
signature = [tf.TensorSpec(x.shape, x.dtype) for x in inputs]
function = tf.function(f, input_signature=signature)
model = ov.convert_model(function)
hints = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(model, "CPU", hints)
actual = list(compiled([np.array(x) for x in inputs]).values())
print('actual  ', actual)
