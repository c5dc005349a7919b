"""runtime crash | litert | RuntimeError at ai_edge_litert/interpreter.py:__call__ | BytesRequired number of elements overflowed XNNPack delegate failed to get. Seen with ai-edge-litert 2.3.0, keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

inputs = [np.zeros((0, 3, 2, 1), 'float32')]
n0 = keras.Input((3, 2, 1), dtype='float32')
n1 = keras.layers.AdaptiveAveragePooling2D(output_size=[2, 2])(n0)
model = keras.Model(n0, n1)
print('expected: it runs')
fixed = [keras.Input(batch_shape=(len(x) or None, *x.shape[1:]), dtype=x.dtype.name) for x in inputs]
model = keras.Model(fixed, model(fixed if len(fixed) > 1 else fixed[0]))
content = tf.lite.TFLiteConverter.from_keras_model(model).convert()
open("model.tflite", "wb").write(content)
runner = Interpreter("model.tflite").get_signature_runner()
given = dict(zip(sorted(runner.get_input_details()), inputs))
outputs = [o for _, o in sorted(runner(**given).items())]
print("actual: it runs")
