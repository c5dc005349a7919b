"""runtime crash | jax | TypeError. Seen with jax 0.10.2, jaxlib 0.10.2, keras 3.15.1; see check.py."""
import os

os.environ.update(KERAS_BACKEND='jax', JAX_ENABLE_X64='1')

import keras
import numpy as np
import jax

inputs = [np.zeros((2, 1, 1), 'float32')]
n0 = keras.Input((1, 1), dtype='float32')
layer1 = keras.layers.GRU(units=1, use_bias=False)
n1 = layer1(n0)
layer1.set_weights([np.ones((1, 3), 'float32'), np.ones((1, 3), 'float32')])
model = keras.Model(n0, n1)
print('expected: it runs')
function = jax.jit(lambda x: model(x, training=False))
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(function(inputs[0]))]
print("actual: it runs")
