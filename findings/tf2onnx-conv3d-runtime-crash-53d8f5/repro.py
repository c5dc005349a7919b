"""runtime crash | tf2onnx | onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph at onnxruntime/capi/onnxruntime_inference_collection.py:_create_inference_session | Load model from is an invalid model In Node tensor. Seen with keras 3.15.1, onnx 1.23.2, onnxruntime 1.31.1, tensorflow 2.21.0, tf2onnx 1.17.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np
import tensorflow as tf
import tf2onnx
import onnxruntime as ort

inputs = [np.zeros((2, 1, 1, 1, 4), 'float32')]
n0 = keras.Input((1, 1, 1, 4), dtype='float32')
n1 = keras.layers.Conv3D(filters=4, groups=4, kernel_size=[1, 1, 1])(n0)
model = keras.Model(n0, n1)
print('expected: it runs')
spec = [tf.TensorSpec((None, *i.shape[1:]), i.dtype) for i in model.inputs]
function = tf.function(lambda *inputs: model(inputs[0], training=False), spec)
tf2onnx.convert.from_function(function, spec, opset=18, output_path="model.onnx")
session = ort.InferenceSession("model.onnx")
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print("actual: it runs")
