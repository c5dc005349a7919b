"""tf2onnx asks for IsInf of half precision, which ONNX has from opset 20 on only."""

import sys

import onnxruntime as ort
import tensorflow as tf
import tf2onnx


def f(x):
    return tf.math.is_finite(x)


x = tf.constant([1.0], tf.bfloat16)
expected = f(x).numpy()
spec = [tf.TensorSpec(x.shape, x.dtype, "x")]
print("expected", expected.tolist())
try:
    model, _ = tf2onnx.convert.from_function(tf.function(f, spec), spec, opset=18)
    actual = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x.numpy()})[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
