"""reference differs | tensorflow | GlobalAveragePooling2D(). Seen with keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np

inputs = [np.full((2, 1, 2, 1), 3e38, 'float32').astype('float64')]
n0 = keras.Input((1, 2, 1), dtype='float64')
n1 = keras.layers.GlobalAveragePooling2D(dtype='float64')(n0)
model = keras.Model(n0, n1)
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(model(inputs[0], training=False))]
print('expected [[inf], [inf]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
