"""NaN/Inf mask differs | openvino_keras | Activation(). Seen with keras 3.15.1, openvino 2026.4.1; see check.py."""
import os

os.environ.update(KERAS_BACKEND='openvino')

import keras
import numpy as np

inputs = [np.full((2, 1, 1, 1, 1), np.nan, 'float32')]
n0 = keras.Input((1, 1, 1, 1), dtype='float32')
n1 = keras.layers.Activation(activation='relu')(n0)
model = keras.Model(n0, n1)
outputs = keras.tree.flatten(model.predict_on_batch(inputs[0]))
print('expected [[[[[nan]]]], [[[[nan]]]]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
