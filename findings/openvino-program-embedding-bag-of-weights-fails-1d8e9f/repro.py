"""fails | openvino | program embedding bag of weights(). Seen with torch 2.13.0+cpu, openvino 2026.4.1; see check.py."""

import numpy as np
import openvino as ov
import torch
import torch.nn.functional as F

inputs = [torch.tensor(np.zeros((4, 6), 'float32')), torch.tensor(np.zeros((4, 6), 'float32'))]


def f(x, y):
    return F.embedding_bag(torch.tensor([0, 2, 3]), x, torch.tensor([0, 0]), mode='sum', per_sample_weights=y[0, :3])


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
