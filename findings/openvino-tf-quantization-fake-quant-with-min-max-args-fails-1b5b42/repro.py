"""fails | openvino | tf.quantization.fake_quant_with_min_max_args(bits=16). Seen with tensorflow 2.21.0, openvino 2026.4.1; see check.py."""

import numpy as np
import openvino as ov
import tensorflow as tf

inputs = [tf.constant(np.zeros((3, 5), 'float32'))]


def f(x):
    return tf.quantization.fake_quant_with_min_max_args(x, -1.0, 1.0, 16, False)


expected = f(*inputs)
print('expected', expected)
signature = [tf.TensorSpec(x.shape, x.dtype) for x in inputs]
function = tf.function(f, input_signature=signature)
model = ov.convert_model(function)
hints = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(model, "CPU", hints)
actual = list(compiled([np.array(x) for x in inputs]).values())
print('actual  ', actual)
