"""converter crash | tf2onnx | ValueError at tensorflow/python/framework/ops.py:_create_c_op | Exception encountered when calling Negative dimension size caused by subtracting. Seen with keras 3.15.1, onnx 1.23.2, tensorflow 2.21.0, tf2onnx 1.17.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np
import tensorflow as tf
import tf2onnx

inputs = [np.zeros((2, 1, 1, 1), 'float32')]
n0 = keras.Input((1, 1, 1), dtype='float32')
n1 = keras.layers.AdaptiveAveragePooling2D(output_size=[1, 1])(n0)
model = keras.Model(n0, n1)
print('expected: it runs')
spec = [tf.TensorSpec((None, *i.shape[1:]), i.dtype) for i in model.inputs]
function = tf.function(lambda *inputs: model(inputs[0], training=False), spec)
tf2onnx.convert.from_function(function, spec, opset=18, output_path="model.onnx")
outputs = []
print("actual: it runs")
