"""A tie between two pixels: TensorFlow and tf2onnx round it differently."""

import sys

import numpy as np
import onnxruntime as ort
import tensorflow as tf
import tf2onnx


def f(x):
    return tf.image.crop_and_resize(x, [[0.0, 0.0, 1.0, 1.0]], [0], (1, 3), 'nearest')


x = tf.constant([[0.0, 1.0], [2.0, 3.0]])[None, :, :, None]
expected = f(x).numpy()
spec = [tf.TensorSpec(x.shape, x.dtype, "x")]
model, _ = tf2onnx.convert.from_function(tf.function(f, spec), spec, opset=18)
actual = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x.numpy()})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
