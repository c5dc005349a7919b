"""A Keras layer of float64 puts out float32 on OpenVINO."""

import os
import sys

os.environ["KERAS_BACKEND"] = "openvino"

import keras
import numpy as np

given = keras.Input((1,))
model = keras.Model(given, keras.layers.Average(dtype="float64")([given, given]))
actual = model.predict_on_batch(np.zeros((2, 1), "float32"))
print("expected float64")
print("actual  ", actual.dtype)
sys.exit(str(actual.dtype) != "float64")
