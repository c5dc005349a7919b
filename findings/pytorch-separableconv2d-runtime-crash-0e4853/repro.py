"""Inductor cannot compile the gradient of a strided convolution with a free batch size."""

import sys

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), torch.ones(1, 1, 1, 1), stride=3)


x = torch.zeros(2, 1, 2, 1, requires_grad=True)
print("expected", torch.autograd.grad(Model()(x).sum(), x)[0].tolist())
free = ({0: torch.export.Dim.DYNAMIC},)
program = torch.export.export(Model(), (x,), dynamic_shapes=free)
try:
    compiled = torch.compile(program.module(check_guards=False), dynamic=True)
    (actual,) = torch.autograd.grad(compiled(x).sum(), x)
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:100])
    sys.exit(1)
print("actual  ", actual.tolist())
