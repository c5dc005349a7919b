"""reference differs | jax | training of SpectralNormalization(). Seen with jax 0.10.2, jaxlib 0.10.2, keras 3.15.1; see check.py."""
import os

os.environ.update(KERAS_BACKEND='jax', JAX_ENABLE_X64='1')

import keras
import numpy as np

inputs = [np.zeros((2, 1, 1, 1), 'float32').astype('float64')]
layers = [keras.layers.SpectralNormalization.from_config({'layer': {'module': 'keras.layers', 'class_name': 'Dense', 'config': {'units': 4, 'activation': 'linear', 'dtype': 'float64', 'use_bias': True}, 'registered_name': None}, 'dtype': 'float64'})]
model = keras.Sequential([keras.Input((1, 1, 1), dtype='float64'), *layers])
layers[0].set_weights([np.ones((1, 4), 'float32'), np.ones((1, 4), 'float32'), np.ones((4,), 'float32')])
keras.config.set_floatx("float64")  # of the loss
model.compile(keras.optimizers.SGD(learning_rate=0.125, momentum=0.5, nesterov=True), "mse")
loss = model.train_on_batch(inputs[0], np.cos(np.arange(8)).reshape((2, 1, 1, 4)))
found = [[w for w in layer.get_weights() if w.dtype.kind == 'f'] for layer in layers]
outputs = [np.concatenate([np.empty(0, 'float64'), *map(np.ravel, arrays)]) for arrays in found]
outputs = [np.asarray(loss, 'float64'), *outputs]
print('expected 0.5 at [0] of output 1')
print("actual  ", np.asarray(outputs[1])[0])
