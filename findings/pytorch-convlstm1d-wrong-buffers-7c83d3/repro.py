"""The strides of a compiled result are not those of the eager one."""

import sys

import torch


def f(x, w):
    y = torch.nn.functional.conv1d(x.transpose(1, 2), w).transpose(1, 2)
    return torch.stack([y.tanh()], 1)


x, w = torch.ones(2, 2, 2), torch.ones(2, 2, 1)
expected, actual = f(x, w).stride(), torch.compile(f)(x, w).stride()
print("expected", expected)
print("actual  ", actual)
sys.exit(expected != actual)
