"""The LiteRT converter cannot convert a Conv1D with channels first."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

layer = keras.layers.Conv1D(2, 1, data_format="channels_first")
model = keras.Sequential([keras.Input((1, 3)), layer])
print("expected it is converted; the layer gives", model.output_shape)
try:
    tf.lite.TFLiteConverter.from_keras_model(model).convert()
except Exception as error:
    print("actual  ", type(error).__name__, *(l for l in str(error).split("\n") if "error:" in l))
    sys.exit(1)
print("actual   it is converted")
