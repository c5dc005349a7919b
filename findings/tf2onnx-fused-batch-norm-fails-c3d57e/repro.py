"""tf2onnx writes an invalid node for a batch normalisation in training with all its outputs."""

import sys

import onnxruntime as ort
import tensorflow as tf
import tf2onnx


def f(x):
    given = {"scale": [1.0], "offset": [0.0], "mean": [0.0], "variance": [1.0]}
    return tf.raw_ops.FusedBatchNormV3(x=x, **given, is_training=True)[:3]


x = tf.reshape(tf.range(4.0), (1, 2, 2, 1))
print("expected", [y.numpy().ravel().tolist() for y in f(x)])
spec = [tf.TensorSpec(x.shape, x.dtype, "x")]
try:
    model, _ = tf2onnx.convert.from_function(tf.function(f, spec), spec, opset=18)
    actual = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x.numpy()})
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
