"""A model with Attention that Keras saved as .h5 cannot be read again; see check.py."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

given = keras.Input((3, 2))
model = keras.Model(given, keras.layers.Attention()([given, given]))
x = np.ones((1, 3, 2), "float32")
expected = np.asarray(model(x))
print("expected", expected)
model.save("attention.h5")
actual = np.asarray(keras.saving.load_model("attention.h5", compile=False)(x))
print("actual  ", actual)
