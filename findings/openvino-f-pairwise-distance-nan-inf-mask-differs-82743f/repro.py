"""NaN/Inf mask differs | openvino | F.pairwise_distance(p=1.0). Seen with torch 2.13.0+cpu, openvino 2026.4.1; see check.py."""

import numpy as np
import openvino as ov
import torch
import torch.nn.functional as F

inputs = [
    torch.tensor(np.random.default_rng(0).normal(size=(3, 4)).astype('float32')),
    torch.tensor(np.random.default_rng(1).normal(size=(3, 4)).astype('float32')),
]

def f(x, y):
    return F.pairwise_distance(x, y, p=1.0, keepdim=False)

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
