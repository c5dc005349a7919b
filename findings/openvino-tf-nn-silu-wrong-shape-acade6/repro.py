"""A converted silu has two results in OpenVINO."""

import sys

import openvino as ov
import tensorflow as tf

x = tf.constant([0.0, 1.0])
model = ov.convert_model(tf.function(tf.nn.silu, [tf.TensorSpec(x.shape, x.dtype)]))
results = list(ov.compile_model(model, "CPU")([x]).values())
print("expected 1 result: ", tf.nn.silu(x).numpy().tolist())
print("actual  ", len(results), "results:", [result.tolist() for result in results])
sys.exit(len(results) != 1)
