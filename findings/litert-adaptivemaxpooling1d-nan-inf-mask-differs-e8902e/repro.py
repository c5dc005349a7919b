"""A maximum of infinity is 3.4e38 in LiteRT's kernels without XNNPACK."""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

x = tf.fill((1, 1, 1, 1), np.inf)
module = tf.Module()
module.f = tf.function(
    lambda x: tf.nn.max_pool2d(x, 1, 1, 'VALID'),
    [tf.TensorSpec(x.shape, x.dtype)],
)
function = module.f.get_concrete_function()
model = tf.lite.TFLiteConverter.from_concrete_functions([function], module).convert()
expected = x.numpy()
kernels = {"experimental_op_resolver_type": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}
runner = Interpreter(model_content=model, **kernels).get_signature_runner()
actual = runner(x=x)["output_0"]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, equal_nan=True))
