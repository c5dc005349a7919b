"""runtime crash | pytorch | torch._inductor.exc.InductorError at sympy/core/relational.py:__bool__ | cannot determine truth value of Set for the internal stack. Seen with keras 3.15.1, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='torch')

import keras
import numpy as np
import torch

inputs = [np.zeros((2, 1, 2, 1), 'float32')]
layers = [keras.layers.SeparableConv2D(filters=1, kernel_size=[1, 1], strides=[3, 3])]
model = keras.Sequential([keras.Input((1, 2, 1), dtype='float32'), *layers])
layers[0].set_weights([np.ones((1, 1, 1, 1), 'float32'), np.ones((1, 1, 1, 1), 'float32'), np.ones((1,), 'float32')])
print('expected: it runs')
cosines = lambda y: np.cos(np.arange(np.prod(y.shape))).reshape(y.shape)
tensors = lambda x: (keras.tree.map_structure(torch.from_numpy, x),)
free = keras.tree.map_structure(lambda _: {0: torch.export.Dim.DYNAMIC}, tensors(inputs[0]))
program = torch.export.export(torch.nn.Sequential(model.eval()), tensors(inputs[0]), dynamic_shapes=free)
function = torch.compile(program.module(check_guards=False), dynamic=True)
weighted = lambda ys: sum((y.double() * torch.from_numpy(cosines(y))).sum() for y in keras.tree.flatten(ys))
inputs = [torch.from_numpy(x).requires_grad_() for x in inputs]
total = weighted(function(inputs[0]))
outputs = torch.autograd.grad(total, inputs, materialize_grads=True)
print("actual: it runs")
