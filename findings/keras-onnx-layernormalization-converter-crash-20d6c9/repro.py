"""converter crash | keras_onnx | torch.onnx.errors.SymbolicValueError at torch/onnx/_internal/torchscript_exporter/symbolic_helper.py:_parse_arg | Failed to export node in list node because it is. Seen with keras 3.15.1, onnx 1.23.2, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='torch')

import keras
import numpy as np

inputs = [np.zeros((2, 1, 1, 1), 'float32')]
n0 = keras.Input((1, 1, 1), dtype='float32')
layer1 = keras.layers.LayerNormalization()
n1 = layer1(n0)
layer1.set_weights([np.ones((1,), 'float32'), np.ones((1,), 'float32')])
model = keras.Model(n0, n1)
print("expected: it runs")
model(inputs[0], training=False)
model.export("model.onnx", format="onnx", verbose=False)
outputs = []
print("actual: it runs")
