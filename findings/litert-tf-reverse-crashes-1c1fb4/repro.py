"""crashes | litert | tf.reverse(axes=[]). Seen with tensorflow 2.21.0, ai-edge-litert 2.3.0; see check.py."""

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

inputs = [tf.constant(np.zeros((2, 3, 4), 'float32'))]

def f(x):
    return tf.reverse(x, [])

expected = f(*inputs)
print('expected', expected)
signature = [tf.TensorSpec(x.shape, x.dtype) for x in inputs]
concrete = [tf.function(f, input_signature=signature).get_concrete_function()]
content = tf.lite.TFLiteConverter.from_concrete_functions(concrete).convert()
interpreter = Interpreter(model_content=content)
interpreter.allocate_tensors()
for given, x in zip(interpreter.get_input_details(), inputs):
    interpreter.set_tensor(given["index"], np.array(x))
interpreter.invoke()
actual = [interpreter.get_tensor(y["index"]) for y in interpreter.get_output_details()]
print('actual  ', actual)
