"""tf2onnx takes another cubic for ResizeBicubic."""

import sys

import numpy as np
import onnxruntime as ort
import tensorflow as tf
import tf2onnx


def f(x):
    return tf.raw_ops.ResizeBicubic(images=x, size=(1, 7), align_corners=True)


x = tf.constant([0.0, 1.0, 4.0, 9.0])[None, None, :, None]
expected = f(x).numpy()  # at 0.5: 0.59375 * (0 + 1) - 0.09375 * (0 + 4) = 0.21875
spec = [tf.TensorSpec(x.shape, x.dtype, "x")]
model, _ = tf2onnx.convert.from_function(tf.function(f, spec), spec, opset=18)
actual = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x.numpy()})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
