"""tf2onnx drops num_bits and narrow_range."""

import sys

import numpy as np
import onnxruntime as ort
import tensorflow as tf
import tf2onnx


def f(x):
    return tf.quantization.quantize_and_dequantize_v2(
        x, -1.0, 1.0, num_bits=4, range_given=True
    )


x = tf.constant([-2.3, 0.3, 0.51, 1.3])
expected = f(x).numpy()
spec = [tf.TensorSpec(x.shape, x.dtype, "x")]
model, _ = tf2onnx.convert.from_function(tf.function(f, spec), spec, opset=18)
actual = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x.numpy()})[0]
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, rtol=1e-3))
