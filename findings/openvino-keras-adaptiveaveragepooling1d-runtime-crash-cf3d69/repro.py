"""A pooling of an empty batch on Keras' OpenVINO backend."""

import os
import sys

os.environ["KERAS_BACKEND"] = "openvino"

import keras
import numpy as np

model = keras.Sequential([keras.Input((3, 1)), keras.layers.AdaptiveAveragePooling1D(2)])
print("expected", (0, 2, 1))
try:
    actual = model.predict_on_batch(np.zeros((0, 3, 1), "float32"))
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:250])
    sys.exit(1)
print("actual  ", actual.shape)
