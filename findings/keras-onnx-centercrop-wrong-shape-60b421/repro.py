"""wrong shape | keras_onnx | CenterCrop(). Seen with keras 3.15.1, onnx 1.23.2, onnx2pytorch 0.6.0, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='torch')

import keras
import numpy as np
import onnx
import onnx2pytorch
import torch

inputs = [np.zeros((2, 1, 1, 1), 'float32')]
n0 = keras.Input((1, 1, 1), dtype='float32')
n1 = keras.layers.CenterCrop(height=6, width=6)(n0)
model = keras.Model(n0, n1)
model(inputs[0], training=False)
model.export("model.onnx", format="onnx", verbose=False)
module = onnx2pytorch.ConvertModel(onnx.load("model.onnx"))
outputs = torch.no_grad()(module.eval())(*map(torch.from_numpy, inputs))
outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print('expected the shape (2, 6, 6, 1) of output 0')
print("actual  ", np.shape(outputs[0]))
