"""An infinite product becomes 3.4e38 in LiteRT."""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = tf.fill((2, 1, 1, 1, 1), np.inf)
module = tf.Module()
module.f = tf.function(
    lambda x: tf.nn.conv3d(x, tf.ones((1, 1, 1, 1, 1)), [1] * 5, 'VALID'),
    [tf.TensorSpec(x.shape, x.dtype)],
)
function = module.f.get_concrete_function()
model = tf.lite.TFLiteConverter.from_concrete_functions([function], module).convert()
expected = x.numpy()
runner = Interpreter(model_content=model).get_signature_runner()
actual = runner(x=x)["output_0"]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
