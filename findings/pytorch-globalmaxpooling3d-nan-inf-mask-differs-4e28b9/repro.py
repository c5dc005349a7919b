"""The compiled gradient of a float16 maximum is NaN."""

import sys

import torch


def f(x):
    return x.half().amax(1)


x = torch.tensor([[0.1, 0.2]], requires_grad=True)
(expected,) = torch.autograd.grad(f(x).sum(), x)
(actual,) = torch.autograd.grad(torch.compile(f)(x).sum(), x)
print("expected", expected.tolist())
print("actual  ", actual.tolist())
sys.exit(not torch.equal(actual, expected))
