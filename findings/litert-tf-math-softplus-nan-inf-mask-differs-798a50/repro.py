"""softplus(100) is 100 in TensorFlow, and infinite in the converted model; see check.py."""

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = np.array([1, 50, 88, 100], "float32")
function = tf.function(tf.math.softplus, [tf.TensorSpec((4,), tf.float32)])
expected = function(x).numpy()
print("expected", expected)
converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
interpreter = Interpreter(model_content=converter.convert())
interpreter.allocate_tensors()
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
interpreter.invoke()
actual = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
print("actual  ", actual)
