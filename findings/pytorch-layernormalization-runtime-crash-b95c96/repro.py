"""runtime crash | pytorch | RuntimeError at torch/nn/functional.py:layer_norm | Exception encountered when calling LayerNormalization call Given expected input with. Seen with keras 3.15.1, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='torch')

import keras
import numpy as np

inputs = [np.zeros((2, 1, 1, 2), 'float32')]
n0 = keras.Input((1, 1, 2), dtype='float32')
layer1 = keras.layers.LayerNormalization(axis=1)
n1 = layer1(n0)
layer1.set_weights([np.ones((1,), 'float32'), np.ones((1,), 'float32')])
model = keras.Model(n0, n1)
print('expected: it runs')
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(model(inputs[0], training=False))]
print("actual: it runs")
