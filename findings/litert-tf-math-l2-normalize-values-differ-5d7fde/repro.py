"""LiteRT normalises rows where the whole matrix is asked for."""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
module = tf.Module()
module.f = tf.function(
    lambda x: tf.math.l2_normalize(x, axis=None),
    [tf.TensorSpec(x.shape, x.dtype)],
)
function = module.f.get_concrete_function()
model = tf.lite.TFLiteConverter.from_concrete_functions([function], module).convert()
expected = x.numpy() / np.sqrt(1 + 4 + 9 + 16)
runner = Interpreter(model_content=model).get_signature_runner()
actual = runner(x=x)["output_0"]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
