"""NaN/Inf mask differs | pytorch | gradient of GlobalMaxPooling3D(dtype=float16). Seen with keras 3.15.1, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='torch')

import keras
import numpy as np
import torch

inputs = [np.linspace(-1, 1, 4, dtype='float32').reshape((2, 1, 1, 2, 1))]
layers = [keras.layers.GlobalMaxPooling3D(dtype='float16')]
model = keras.Sequential([keras.Input((1, 1, 2, 1), dtype='float32'), *layers])
cosines = lambda y: np.cos(np.arange(np.prod(y.shape))).reshape(y.shape)
tensors = lambda x: (keras.tree.map_structure(torch.from_numpy, x),)
free = keras.tree.map_structure(lambda _: {0: torch.export.Dim.DYNAMIC}, tensors(inputs[0]))
program = torch.export.export(model.eval(), tensors(inputs[0]), dynamic_shapes=(free,))
function = torch.compile(program.module(), dynamic=True)
weighted = lambda ys: sum((y.double() * torch.from_numpy(cosines(y))).sum() for y in keras.tree.flatten(ys))
inputs = [torch.from_numpy(x).requires_grad_() for x in inputs]
total = weighted(function(inputs[0]))
outputs = torch.autograd.grad(total, inputs, materialize_grads=True)
print('expected [[[[[0. ], [1. ]]]], [[[[0. ], [0.54030231]]]]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
