"""LiteRT clamps at a range that is not to be used."""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = tf.constant([-2.3, 0.3, 1.3])
module = tf.Module()
module.f = tf.function(
    lambda x: tf.quantization.quantize_and_dequantize_v2(x, -1.0, 1.0, range_given=False),
    [tf.TensorSpec(x.shape, x.dtype)],
)
function = module.f.get_concrete_function()
model = tf.lite.TFLiteConverter.from_concrete_functions([function], module).convert()
expected = module.f(x).numpy()
runner = Interpreter(model_content=model).get_signature_runner()
actual = runner(x=x)["output_0"]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
