"""reference differs | tensorflow | SeparableConv2D(data_format=channels_first). Seen with keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np

inputs = [np.zeros((2, 1, 1, 6), 'float32').astype('float64')]
n0 = keras.Input((1, 1, 6), dtype='float64')
layer1 = keras.layers.SeparableConv2D(data_format='channels_first', dtype='float64', filters=4, kernel_size=[1, 3])
n1 = layer1(n0)
layer1.set_weights([np.linspace(-1, 1, 3, dtype='float32').reshape((1, 3, 1, 1)), np.linspace(-1, 1, 4, dtype='float32').reshape((1, 1, 1, 4)), np.linspace(-1, 1, 4, dtype='float32').reshape((4,))])
model = keras.Model(n0, n1)
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(model(inputs[0], training=False))]
print('expected -1.0 at [0, 0, 0, 3] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0, 3])
