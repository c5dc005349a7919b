"""runtime crash | tensorflow | tensorflow.python.framework.errors_impl.InvalidArgumentError at tensorflow/python/framework/ops.py:raise_from_not_ok_status | Exception encountered when calling ConvLSTMCell call Incompatible vs Arguments received. Seen with keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np

inputs = [np.zeros((0, 1, 1, 3), 'float32')]
n0 = keras.Input((1, 1, 3), dtype='float32')
layer1 = keras.layers.ConvLSTM1D(filters=2, kernel_size=[1])
n1 = layer1(n0)
layer1.set_weights([np.ones((1, 3, 8), 'float32'), np.ones((1, 2, 8), 'float32'), np.ones((8,), 'float32')])
model = keras.Model(n0, n1)
print("expected: it runs")
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(model(inputs[0], training=False))]
print("actual: it runs")
