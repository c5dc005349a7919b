"""converter crash | tflite | tensorflow.lite.python.convert_phase.ConverterError at tensorflow/lite/python/convert.py:convert | at at at at at at. Seen with keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np
import tensorflow as tf

inputs = [np.zeros((2, 1, 1, 1, 1), 'float32')]
n0 = keras.Input((1, 1, 1, 1), dtype='float32')
layer1 = keras.layers.PReLU()
n1 = layer1(n0)
layer1.set_weights([np.ones((1, 1, 1, 1), 'float32')])
model = keras.Model(n0, n1)
print('expected: it runs')
fixed = [keras.Input(batch_shape=(len(x) or None, *x.shape[1:]), dtype=x.dtype.name) for x in inputs]
model = keras.Model(fixed, model(fixed if len(fixed) > 1 else fixed[0]))
content = tf.lite.TFLiteConverter.from_keras_model(model).convert()
open("model.tflite", "wb").write(content)
outputs = []
print("actual: it runs")
