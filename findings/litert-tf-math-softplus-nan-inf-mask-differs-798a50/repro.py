"""LiteRT's softplus is infinite from 89 on."""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = tf.constant([1.0, 88.0, 89.0, 100.0])
module = tf.Module()
module.f = tf.function(
    lambda x: tf.math.softplus(x),
    [tf.TensorSpec(x.shape, x.dtype)],
)
function = module.f.get_concrete_function()
model = tf.lite.TFLiteConverter.from_concrete_functions([function], module).convert()
expected = np.logaddexp(0, x)
runner = Interpreter(model_content=model).get_signature_runner()
actual = runner(x=x)["output_0"]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
