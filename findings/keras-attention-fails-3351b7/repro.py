"""A model with Attention that Keras saved as .h5 cannot be read again."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

given = keras.Input((3, 2))
model = keras.Model(given, keras.layers.Attention()([given, given]))
x = np.ones((1, 3, 2), "float32")
print("expected", model(x).numpy().tolist())
model.save("attention.h5")
try:
    actual = keras.saving.load_model("attention.h5", compile=False)(x)
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:250])
    sys.exit(1)
print("actual  ", actual.numpy().tolist())
