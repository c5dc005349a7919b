"""tf2onnx gives -inf for an empty segment, TensorFlow documents 0."""

import sys

import numpy as np
import onnxruntime as ort
import tensorflow as tf
import tf2onnx


def f(x):
    return tf.math.segment_max(x, [0, 0, 2])


x = tf.constant([1.0, 2.0, 3.0])
expected = np.array([2.0, 0.0, 3.0])  # segment 1 is empty
spec = [tf.TensorSpec(x.shape, x.dtype, "x")]
model, _ = tf2onnx.convert.from_function(tf.function(f, spec), spec, opset=18)
actual = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x.numpy()})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
