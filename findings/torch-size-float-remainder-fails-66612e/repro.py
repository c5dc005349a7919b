"""torch.compile writes a C++ remainder of a size and a fraction, which does not exist."""

import sys

import torch


def f(x):
    return x * (x.shape[0] % 2.5)


x = torch.ones(6, 2)
print("expected", f(x)[0].tolist())
try:
    actual = torch.compile(f, dynamic=True)(x)
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[:300])
    sys.exit(1)
print("actual  ", actual[0].tolist())
