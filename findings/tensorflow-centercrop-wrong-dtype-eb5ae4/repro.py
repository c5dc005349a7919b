"""wrong dtype | tensorflow | CenterCrop(dtype=float16). Seen with keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np

inputs = [np.zeros((2, 1, 1, 1), 'float32')]
n0 = keras.Input((1, 1, 1), dtype='float32')
n1 = keras.layers.CenterCrop(dtype='float16', height=6, width=6)(n0)
model = keras.Model(n0, n1)
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(model(inputs[0], training=False))]
print('expected the dtype float16 of output 0')
print("actual  ", np.asarray(outputs[0]).dtype)
