"""tf2onnx does not truncate a quotient of floats."""

import sys

import numpy as np
import onnxruntime as ort
import tensorflow as tf
import tf2onnx


def f(x, y):
    return tf.raw_ops.TruncateDiv(x=x, y=y)


x, y = tf.constant([7.0, -7.0]), tf.constant([2.0, 2.0])
expected = np.trunc(x / y)
spec = [tf.TensorSpec(v.shape, v.dtype, n) for n, v in dict(x=x, y=y).items()]
model, _ = tf2onnx.convert.from_function(tf.function(f, spec), spec, opset=18)
actual = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x.numpy(), "y": y.numpy()})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
