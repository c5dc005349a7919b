"""runtime crash | onnx2torch | UnicodeDecodeError at onnx2torch/onnx_node.py:_parse_attribute_value | codec can decode byte ADDRESS in position invalid start byte. Seen with keras 3.15.1, onnx 1.23.2, onnx2torch 1.5.15, tensorflow 2.21.0, tf2onnx 1.17.0, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np
import tensorflow as tf
import tf2onnx
import onnx2torch
import torch

inputs = [np.zeros((2, 1, 1, 1, 4), 'float32')]
n0 = keras.Input((1, 1, 1, 4), dtype='float32')
layer1 = keras.layers.Conv3D(filters=4, groups=4, kernel_size=[1, 1, 1])
n1 = layer1(n0)
layer1.set_weights([np.ones((1, 1, 1, 1, 4), 'float32'), np.ones((4,), 'float32')])
model = keras.Model(n0, n1)
print('expected: it runs')
spec = [tf.TensorSpec((None, *i.shape[1:]), i.dtype) for i in model.inputs]
function = tf.function(lambda *inputs: model(inputs[0], training=False), spec)
tf2onnx.convert.from_function(function, spec, opset=18, output_path="model.onnx")
module = onnx2torch.convert("model.onnx")
outputs = torch.no_grad()(module.eval())(*map(torch.from_numpy, inputs))
outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print("actual: it runs")
