"""runtime crash | tensorflow | tensorflow.python.framework.errors_impl.InvalidArgumentError at tensorflow/python/framework/ops.py:raise_from_not_ok_status | Exception encountered when calling Average call Biases must be Arguments. Seen with keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np

inputs = [np.zeros((0, 6), 'float32'), np.zeros((0, 6), 'float32')]
n0 = keras.Input((6,), dtype='float32')
n1 = keras.Input((6,), dtype='float32')
n2 = keras.layers.Average()([n0, n1])
model = keras.Model([n0, n1], n2)
print("expected: it runs")
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(model(inputs, training=False))]
print("actual: it runs")
