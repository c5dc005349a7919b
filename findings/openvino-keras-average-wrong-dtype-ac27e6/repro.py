"""wrong dtype | openvino_keras | Average(dtype=float64). Seen with keras 3.15.1, openvino 2026.4.1; see check.py."""
import os

os.environ.update(KERAS_BACKEND='openvino')

import keras
import numpy as np

inputs = [np.zeros((2, 1, 1, 1), 'float32'), np.zeros((2, 1, 1, 1), 'float32')]
n0 = keras.Input((1, 1, 1), dtype='float32')
n1 = keras.Input((1, 1, 1), dtype='float32')
n2 = keras.layers.Average(dtype='float64')([n0, n1])
model = keras.Model([n0, n1], n2)
outputs = keras.tree.flatten(model.predict_on_batch(inputs))
print('expected the dtype float64 of output 0')
print("actual  ", np.asarray(outputs[0]).dtype)
