"""The LiteRT converter cannot convert a Conv1D with channels first."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

layer = keras.layers.Conv1D(2, 1, data_format="channels_first", kernel_initializer="ones")
model = keras.Sequential([keras.Input((1, 3)), layer])
x = tf.constant([1.0, 2.0, 3.0], shape=(1, 1, 3))
print("expected", tf.repeat(x, 2, 1).numpy().tolist())
try:
    content = tf.lite.TFLiteConverter.from_keras_model(model).convert()
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[str(error).find("'tf") :].split("\n")[0])
    sys.exit(1)
runner = Interpreter(model_content=content).get_signature_runner()
print("actual  ", *runner(**{next(iter(runner.get_input_details())): x}).values())
