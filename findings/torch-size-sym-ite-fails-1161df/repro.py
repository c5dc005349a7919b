"""torch.sym_ite of a size and a number fails under torch.compile."""

import sys

import torch


def f(x):
    return x * torch.sym_ite(x.shape[0] > 3, x.shape[0], 2)


x = torch.ones(6, 2)
print("expected", f(x)[0].tolist())
try:
    actual = torch.compile(f, dynamic=True)(x)
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:300])
    sys.exit(1)
print("actual  ", actual[0].tolist())
