"""runtime crash | onnx2pytorch | TypeError at onnx2pytorch/convert/layer.py:convert_layer | missing required positional and. Seen with keras 3.15.1, onnx 1.23.2, onnx2pytorch 0.6.0, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='torch')

import keras
import numpy as np
import onnx
import onnx2pytorch
import torch

inputs = [np.zeros((2, 1, 1, 1), 'float32')]
n0 = keras.Input((1, 1, 1), dtype='float32')
layer1 = keras.layers.ConvLSTM1D(filters=1, kernel_size=[1])
n1 = layer1(n0)
layer1.set_weights([np.ones((1, 1, 4), 'float32'), np.ones((1, 1, 4), 'float32'), np.ones((4,), 'float32')])
model = keras.Model(n0, n1)
print('expected: it runs')
model(inputs[0], training=False)
model.export("model.onnx", format="onnx", verbose=False)
module = onnx2pytorch.ConvertModel(onnx.load("model.onnx"))
outputs = torch.no_grad()(module.eval())(*map(torch.from_numpy, inputs))
outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print("actual: it runs")
