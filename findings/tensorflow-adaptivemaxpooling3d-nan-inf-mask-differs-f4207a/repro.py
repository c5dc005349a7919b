"""NaN/Inf mask differs | tensorflow | AdaptiveMaxPooling3D(). Seen with keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np

inputs = [np.full((2, 2, 2, 2, 1), np.nan, 'float32')]
n0 = keras.Input((2, 2, 2, 1), dtype='float32')
n1 = keras.layers.AdaptiveMaxPooling3D(output_size=[2, 2, 2])(n0)
model = keras.Model(n0, n1)
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(model(inputs[0], training=False))]
print('expected nan at [0, 0, 0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0, 0, 0])
