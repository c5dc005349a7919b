"""wrong shape | openvino | torch.vstack(shape of x=[3], shape of y=[3]). Seen with torch 2.13.0+cpu, openvino 2026.4.1; see check.py."""

import numpy as np
import openvino as ov
import torch
import torch.nn.functional as F

inputs = [torch.tensor(np.zeros((3,), 'float32')), torch.tensor(np.zeros((3,), 'float32'))]


def f(x, y):
    return torch.vstack([x, y])


expected = f(*inputs)
print('expected', expected)
class Model(torch.nn.Module):
    def forward(self, *inputs):
        return f(*inputs)
model = ov.convert_model(Model(), example_input=tuple(inputs))
hints = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(model, "CPU", hints)
actual = list(compiled([x.numpy() for x in inputs]).values())
print('actual  ', actual)
