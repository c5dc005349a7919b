"""NaN/Inf mask differs | openvino_keras | AdaptiveMaxPooling3D(). Seen with keras 3.15.1, openvino 2026.4.1; see check.py."""
import os

os.environ.update(KERAS_BACKEND='openvino')

import keras
import numpy as np

inputs = [np.full((2, 2, 2, 3, 1), np.nan, 'float32')]
n0 = keras.Input((2, 2, 3, 1), dtype='float32')
n1 = keras.layers.AdaptiveMaxPooling3D(output_size=[2, 2, 2])(n0)
model = keras.Model(n0, n1)
outputs = keras.tree.flatten(model.predict_on_batch(inputs[0]))
print('expected nan at [0, 0, 0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0, 0, 0])
