"""wrong dtype | pytorch | Dot(dtype=float64). Seen with keras 3.15.1, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='torch')

import keras
import numpy as np

inputs = [np.zeros((2, 1, 5), 'float32'), np.zeros((2, 1, 5), 'float32')]
n0 = keras.Input((1, 5), dtype='float32')
n1 = keras.Input((1, 5), dtype='float32')
n2 = keras.layers.Dot(axes=-1, dtype='float64')([n0, n1])
model = keras.Model([n0, n1], n2)
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(model(inputs, training=False))]
print('expected the dtype float64 of output 0')
print("actual  ", np.asarray(outputs[0]).dtype)
