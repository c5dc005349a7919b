"""A mean of NaN is minus infinity in LiteRT."""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = tf.fill((1, 1, 2, 1), np.nan)
module = tf.Module()
module.f = tf.function(
    lambda x: tf.nn.avg_pool2d(x, (1, 2), 1, 'VALID'),
    [tf.TensorSpec(x.shape, x.dtype)],
)
function = module.f.get_concrete_function()
model = tf.lite.TFLiteConverter.from_concrete_functions([function], module).convert()
expected = x.numpy().mean(axis=2, keepdims=True)
runner = Interpreter(model_content=model).get_signature_runner()
actual = runner(x=x)["output_0"]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
