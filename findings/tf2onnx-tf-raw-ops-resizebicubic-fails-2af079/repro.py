"""tf2onnx declares float32 for a resize that it computes in float16."""

import sys

import onnxruntime as ort
import tensorflow as tf
import tf2onnx


def f(x):
    return tf.raw_ops.ResizeBicubic(images=x, size=(3, 3))


x = tf.ones((1, 2, 2, 1), tf.float16)
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
