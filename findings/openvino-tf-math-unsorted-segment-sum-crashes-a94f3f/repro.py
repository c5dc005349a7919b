"""OpenVINO ends the process on tf.math.unsorted_segment_sum of an empty input; see check.py."""

import openvino as ov
import tensorflow as tf

inputs = [tf.zeros((0, 3)), tf.zeros((0,), tf.int32)]


def f(x, y):
    return tf.math.unsorted_segment_sum(x, y, 4)


print("expected", f(*inputs))
signature = [tf.TensorSpec(x.shape, x.dtype) for x in inputs]
model = ov.convert_model(tf.function(f, input_signature=signature))
compiled = ov.Core().compile_model(model, "CPU")
actual = list(compiled([x.numpy() for x in inputs]).values())
print("actual  ", actual)
