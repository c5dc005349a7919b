"""runtime crash | tensorflow | tensorflow.python.framework.errors_impl.InvalidArgumentError at tensorflow/python/eager/execute.py:quick_execute | Inputs to operation of type AddN must have the same. Seen with keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np
import tensorflow as tf

inputs = [np.zeros((0, 1, 2, 1), 'float32')]
n0 = keras.Input((1, 2, 1), dtype='float32')
layer1 = keras.layers.ConvLSTM1D(filters=1, kernel_size=[2])
n1 = layer1(n0)
layer1.set_weights([np.ones((2, 1, 4), 'float32'), np.ones((2, 1, 4), 'float32'), np.ones((4,), 'float32')])
model = keras.Model(n0, n1)
print("expected: it runs")
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(tf.function(model)(inputs[0], training=False))]
print("actual: it runs")
