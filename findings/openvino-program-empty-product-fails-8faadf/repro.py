"""fails | openvino | program empty product(). Seen with torch 2.13.0+cpu, openvino 2026.4.1; see check.py."""

import numpy as np
import openvino as ov
import torch

inputs = [torch.tensor(np.zeros((4, 6), 'float32')), torch.tensor(np.zeros((4, 6), 'float32'))]


def f(x, y):
    return x[:, :0] @ y[:0] + 1


expected = f(*inputs)
print('expected', expected)
class Model(torch.nn.Module):
    def forward(self, *inputs):
        return f(*inputs)
program = torch.export.export(Model(), tuple(inputs))
model = ov.convert_model(program)
hints = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(model, "CPU", hints)
actual = list(compiled([x.numpy() for x in inputs]).values())
print('actual  ', actual)
