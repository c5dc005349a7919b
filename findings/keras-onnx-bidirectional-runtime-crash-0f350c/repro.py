"""runtime crash | keras_onnx | onnxruntime.capi.onnxruntime_pybind11_state.Fail at onnxruntime/capi/onnxruntime_inference_collection.py:_create_inference_session | FAIL Load model from Op axis must be in Input. Seen with keras 3.15.1, onnx 1.23.2, onnxruntime 1.31.1, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='torch')

import keras
import numpy as np
import onnxruntime as ort

inputs = [np.zeros((2, 1, 1), 'float32')]
n0 = keras.Input((1, 1), dtype='float32')
layer1 = keras.layers.Bidirectional.from_config({'layer': {'module': 'keras.layers', 'class_name': 'LSTM', 'config': {'activation': 'tanh', 'bias_constraint': None, 'bias_initializer': 'zeros', 'bias_regularizer': None, 'dropout': 0.0, 'dtype': 'float32', 'kernel_constraint': None, 'kernel_initializer': 'glorot_uniform', 'kernel_regularizer': None, 'recurrent_activation': 'sigmoid', 'recurrent_constraint': None, 'recurrent_dropout': 0.0859, 'recurrent_initializer': 'orthogonal', 'recurrent_regularizer': None, 'return_sequences': False, 'unit_forget_bias': True, 'units': 1, 'unroll': False, 'use_bias': True}, 'registered_name': None}})
n1 = layer1(n0)
layer1.set_weights([np.ones((1, 4), 'float32'), np.ones((1, 4), 'float32'), np.ones((4,), 'float32'), np.ones((1, 4), 'float32'), np.ones((1, 4), 'float32'), np.ones((4,), 'float32')])
model = keras.Model(n0, n1)
print('expected: it runs')
model(inputs[0], training=False)
model.export("model.onnx", format="onnx", verbose=False)
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print("actual: it runs")
