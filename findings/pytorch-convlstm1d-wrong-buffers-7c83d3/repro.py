"""wrong buffers | pytorch | asterism.libraries.adapters.library.WrongBuffersError. Seen with keras 3.15.1, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='torch')

import keras
import numpy as np
import torch

inputs = [np.zeros((2, 1, 2, 2), 'float32')]
layers = [keras.layers.ConvLSTM1D(filters=2, kernel_size=[1])]
model = keras.Sequential([keras.Input((1, 2, 2), dtype='float32'), *layers])
layers[0].set_weights([np.ones((1, 2, 8), 'float32'), np.ones((1, 2, 8), 'float32'), np.ones((8,), 'float32')])
function = torch.compile(model)
def lies(call):
    given = list(map(torch.tensor, inputs))
    memory = [x.untyped_storage().data_ptr() for x in given if x.numel()]
    strides = lambda y: [s for s, n in zip(y.stride(), y.shape) if n > 1]
    outputs = [y for y in keras.tree.flatten(call(given[0])) if y.numel()]
    return [(strides(y), y.untyped_storage().data_ptr() in memory) for y in outputs]
with torch.no_grad():
    expected, outputs = map(lies, [lambda x: model(x, training=False), lambda x: function(x, training=False)])
print("expected strides, and whether memory is an input's", expected, "actual", outputs)
