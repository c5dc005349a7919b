"""runtime crash | pytorch | AssertionError at torch/_functorch/_aot_autograd/functional_utils.py:assert_functional_graph | expected to have an entirely functional graph but found kwargs. Seen with keras 3.15.1, torch 2.13.0+cpu; see check.py."""
import os

os.environ.update(KERAS_BACKEND='torch')

import keras
import numpy as np
import torch

inputs = [np.zeros((2, 1, 1, 1), 'float32')]
layers = [keras.layers.BatchNormalization()]
model = keras.Sequential([keras.Input((1, 1, 1), dtype='float32'), *layers])
layers[0].set_weights([np.ones((1,), 'float32'), np.ones((1,), 'float32'), np.ones((1,), 'float32'), np.ones((1,), 'float32')])
print('expected: it runs')
tensors = lambda x: (keras.tree.map_structure(torch.from_numpy, x),)
program = torch.export.export(torch.nn.Sequential(model.eval()), tensors(inputs[0]))
path = torch._inductor.aoti_compile_and_package(program, package_path="model.pt2")
function = torch._inductor.aoti_load_package(path)
outputs = [o.detach().numpy() for o in keras.tree.flatten(function(*tensors(inputs[0])))]
print("actual: it runs")
