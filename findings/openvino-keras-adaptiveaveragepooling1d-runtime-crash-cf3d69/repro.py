"""runtime crash | openvino_keras | RuntimeError at openvino/_ov_api.py:infer | Exception from Exception from AvgPool node with name Check failed. Seen with keras 3.15.1, openvino 2026.4.1; see check.py."""
import os

os.environ.update(KERAS_BACKEND='openvino')

import keras
import numpy as np

inputs = [np.zeros((0, 3, 1), 'float32')]
n0 = keras.Input((3, 1), dtype='float32')
n1 = keras.layers.AdaptiveAveragePooling1D(output_size=[2])(n0)
model = keras.Model(n0, n1)
print("expected: it runs")
outputs = keras.tree.flatten(model.predict_on_batch(inputs[0]))
print("actual: it runs")
