"""LiteRT ends the process for a reversal of no axis."""

import sys

import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = tf.ones((2, 3))
module = tf.Module()
module.f = tf.function(
    lambda x: tf.reverse(x, []),
    [tf.TensorSpec(x.shape, x.dtype)],
)
function = module.f.get_concrete_function()
model = tf.lite.TFLiteConverter.from_concrete_functions([function], module).convert()
expected = module.f(x).numpy()
print("expected", expected.tolist())
runner = Interpreter(model_content=model).get_signature_runner()
actual = runner(x=x)["output_0"]
print("actual  ", actual)
