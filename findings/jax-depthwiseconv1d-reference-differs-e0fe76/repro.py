"""reference differs | jax | DepthwiseConv1D(). Seen with jax 0.10.2, jaxlib 0.10.2, keras 3.15.1; see check.py."""
import os

os.environ.update(KERAS_BACKEND='jax', JAX_ENABLE_X64='1')

import keras
import numpy as np
import jax

inputs = [np.array([np.nan, -0.7409173846244812, np.nan, 0.523677408695221], 'float32').reshape((2, 1, 2)).astype('float64')]
n0 = keras.Input((1, 2), dtype='float64')
layer1 = keras.layers.DepthwiseConv1D(kernel_size=[1], dtype='float64')
n1 = layer1(n0)
layer1.set_weights([np.ones((1, 2, 1), 'float32'), np.ones((2,), 'float32')])
model = keras.Model(n0, n1)
outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten(jax.jit(lambda x: model(x, training=False))(inputs[0]))]
print('expected [[[ nan, 0.25908262]], [[ nan, 1.52367741]]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
