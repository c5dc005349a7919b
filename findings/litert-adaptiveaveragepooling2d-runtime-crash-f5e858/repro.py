"""LiteRT cannot prepare a pooling of an empty batch."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

from ai_edge_litert.interpreter import Interpreter
import keras
import tensorflow as tf

given = keras.Input(batch_shape=(None, 3, 2, 1))
model = keras.Model(given, keras.layers.AdaptiveAveragePooling2D([2, 2])(given))
content = tf.lite.TFLiteConverter.from_keras_model(model).convert()
print("expected", (0, 2, 2, 1))
try:
    runner = Interpreter(model_content=content).get_signature_runner()
    (name,) = runner.get_input_details()
    actual = runner(**{name: tf.zeros((0, 3, 2, 1))})
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:250])
    sys.exit(1)
print("actual  ", [y.shape for y in actual.values()])
