"""Fake quantisation of 1: a tie that TensorFlow's float32 breaks."""

import sys

import numpy as np
import onnxruntime as ort
import tensorflow as tf
import tf2onnx


def f(x):
    return tf.quantization.fake_quant_with_min_max_args(x, -1.0, 1.0)


x = tf.constant([-1.01, 1.01])
expected = f(x).numpy()
spec = [tf.TensorSpec(x.shape, x.dtype, "x")]
model, _ = tf2onnx.convert.from_function(tf.function(f, spec), spec, opset=18)
actual = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x.numpy()})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
