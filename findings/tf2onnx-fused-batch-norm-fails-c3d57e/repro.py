"""fails | tf2onnx | fused_batch_norm(). Seen with tensorflow 2.21.0, tf2onnx 1.17.0, onnxruntime 1.31.1, onnx 1.23.2; see check.py."""

import numpy as np
import onnxruntime as ort
import tensorflow as tf
import tf2onnx

inputs = [tf.zeros((2, 6, 5, 3)), tf.zeros(3), tf.zeros(3), tf.zeros(3), tf.ones(3)]

def f(x, y, z, v, w):
    return tf.raw_ops.FusedBatchNormV3(x=x, scale=y, offset=z, mean=v, variance=w, epsilon=0.1, is_training=True, exponential_avg_factor=1.0)[:3]

expected = f(*inputs)
print('expected', expected)
signature = [tf.TensorSpec(x.shape, x.dtype) for x in inputs]
function = tf.function(f, input_signature=signature)
model, _ = tf2onnx.convert.from_function(function, input_signature=signature, opset=18)
session = ort.InferenceSession(model.SerializeToString())
names = [given.name for given in session.get_inputs()]
actual = session.run(None, {n: np.asarray(x) for n, x in zip(names, inputs)})
print('actual  ', actual)
