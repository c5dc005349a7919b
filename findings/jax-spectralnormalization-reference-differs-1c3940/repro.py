"""Keras on JAX loses the weights that SpectralNormalization assigns in training."""

import os
import sys

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np

layer = keras.layers.SpectralNormalization(keras.layers.Dense(4))
model = keras.Sequential([keras.Input((1,)), layer])
kernel = layer.layer.kernel
kernel.assign(np.ones((1, 4)))
model.compile(keras.optimizers.SGD(0.0), "mse")  # a step of 0 changes nothing else
model.train_on_batch(np.ones((2, 1)), np.ones((2, 4)))
expected = np.ones((1, 4)) / np.linalg.norm(np.ones((1, 4)))
actual = keras.ops.convert_to_numpy(kernel)
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not np.allclose(actual, expected, 1e-3))
