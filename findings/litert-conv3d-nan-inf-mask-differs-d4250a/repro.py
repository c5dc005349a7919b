"""NaN/Inf mask differs | litert | Conv3D(). Seen with ai-edge-litert 2.3.0, keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

inputs = [np.full((2, 1, 1, 1, 1), np.inf, 'float32')]
n0 = keras.Input((1, 1, 1, 1), dtype='float32')
layer1 = keras.layers.Conv3D(filters=1, kernel_size=[1, 1, 1])
n1 = layer1(n0)
layer1.set_weights([np.ones((1, 1, 1, 1, 1), 'float32'), np.ones((1,), 'float32')])
model = keras.Model(n0, n1)
fixed = [keras.Input(batch_shape=x.shape, dtype=x.dtype.name) for x in inputs]
model = keras.Model(fixed, model(fixed if len(fixed) > 1 else fixed[0]))
content = tf.lite.TFLiteConverter.from_keras_model(model).convert()
open("model.tflite", "wb").write(content)
runner = Interpreter("model.tflite").get_signature_runner()
given = dict(zip(sorted(runner.get_input_details()), inputs))
outputs = [o for _, o in sorted(runner(**given).items())]
print('expected [[[[[inf]]]], [[[[inf]]]]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
