"""OpenVINO ends the process for a segment sum of no rows."""

import openvino as ov
import tensorflow as tf


def f(x, rows):
    return tf.math.unsorted_segment_sum(x, rows, 4)


x, rows = tf.zeros((0, 3)), tf.zeros((0,), tf.int32)
print("expected", f(x, rows).numpy().tolist())
model = ov.convert_model(tf.function(f, [tf.TensorSpec(v.shape, v.dtype) for v in (x, rows)]))
print("actual  ", ov.compile_model(model, "CPU")([x, rows])[0])
