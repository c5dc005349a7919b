"""values differ | openvino | F.embedding_bag(padding=0). Seen with torch 2.13.0+cpu, openvino 2026.4.1; see check.py."""

import numpy as np
import openvino as ov
import torch
import torch.nn.functional as F

inputs = [
    torch.tensor((np.arange(6).reshape((2, 3)) % 5).astype('int64')),
    torch.tensor(np.linspace(-1, 1, 20).reshape((5, 4)).astype('float32')),
]

def f(x, y):
    return F.embedding_bag(x, y, mode='mean', padding_idx=0)

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
