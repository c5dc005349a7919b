"""The LiteRT converter cannot convert a PReLU of five axes."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

layer = keras.layers.PReLU(keras.initializers.Constant(0.25))
model = keras.Sequential([keras.Input((1, 1, 1, 2)), layer])
x = tf.constant([-1.0, 2.0], shape=(1, 1, 1, 1, 2))
print("expected", model(x).numpy().ravel().tolist())
try:
    content = tf.lite.TFLiteConverter.from_keras_model(model).convert()
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[str(error).find("'tf") :].split("\n")[0])
    sys.exit(1)
runner = Interpreter(model_content=content).get_signature_runner()
print("actual  ", *runner(**{next(iter(runner.get_input_details())): x}).values())
