"""The LiteRT converter cannot convert a PReLU of five axes."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

model = keras.Sequential([keras.Input((1, 1, 1, 1)), keras.layers.PReLU()])
print("expected it is converted; the layer gives", model.output_shape)
try:
    tf.lite.TFLiteConverter.from_keras_model(model).convert()
except Exception as error:
    print("actual  ", type(error).__name__, *(l for l in str(error).split("\n") if "error:" in l))
    sys.exit(1)
print("actual   it is converted")
