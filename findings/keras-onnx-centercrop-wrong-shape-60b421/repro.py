"""wrong shape | keras_onnx | CenterCrop(). Seen with keras 3.15.1, onnx 1.23.2, onnxruntime 1.31.1, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='torch')

import keras
import numpy as np
import onnxruntime as ort

inputs = [np.zeros((2, 1, 1, 1), 'float32')]
n0 = keras.Input((1, 1, 1), dtype='float32')
n1 = keras.layers.CenterCrop(height=6, width=6)(n0)
model = keras.Model(n0, n1)
model(inputs[0], training=False)
model.export("model.onnx", format="onnx", verbose=False)
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print('expected the shape (2, 6, 6, 1) of output 0')
print("actual  ", np.shape(outputs[0]))
