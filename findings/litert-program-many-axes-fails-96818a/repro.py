"""LiteRT cannot prepare a sum over three of eight axes."""

import sys

import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = tf.ones((1, 1, 1, 1, 1, 1, 2, 3))
module = tf.Module()
module.f = tf.function(
    lambda x: tf.reduce_sum(x, (0, 2, 6)),
    [tf.TensorSpec(x.shape, x.dtype)],
)
function = module.f.get_concrete_function()
model = tf.lite.TFLiteConverter.from_concrete_functions([function], module).convert()
expected = module.f(x).numpy()
print("expected", expected.tolist())
try:
    runner = Interpreter(model_content=model).get_signature_runner()
    actual = runner(x=x)["output_0"]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
