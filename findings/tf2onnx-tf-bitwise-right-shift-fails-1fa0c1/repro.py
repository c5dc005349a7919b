"""ONNX has no shift of signed numbers."""

import sys

import onnxruntime as ort
import tensorflow as tf
import tf2onnx


def f(x, y):
    return tf.bitwise.right_shift(x, y)


x, y = tf.constant([4, 8], tf.int64), tf.constant([1, 1], tf.int64)
expected = f(x, y).numpy()
spec = [tf.TensorSpec(v.shape, v.dtype, n) for n, v in dict(x=x, y=y).items()]
print("expected", expected.tolist())
try:
    model, _ = tf2onnx.convert.from_function(tf.function(f, spec), spec, opset=18)
    actual = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x.numpy(), "y": y.numpy()})[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
