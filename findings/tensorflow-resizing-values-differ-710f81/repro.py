"""values differ | tensorflow | Resizing(). Seen with keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np
import tensorflow as tf

inputs = [np.linspace(-1, 1, 10, dtype='float32').reshape((2, 5, 1, 1))]
n0 = keras.Input((5, 1, 1), dtype='float32')
n1 = keras.layers.Resizing(height=19, width=6)(n0)
model = keras.Model(n0, n1)
function = tf.function(model, jit_compile=True)
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(function(inputs[0], training=False))]
print('expected -0.5555555820465088 at [0, 9, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 9, 0, 0])
