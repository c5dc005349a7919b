"""A compiled whole division by zero ends the process, where eager PyTorch raises."""

import torch


def f(x, y):
    return torch.div(x, y, rounding_mode="trunc")


x = torch.zeros(3, 4, dtype=torch.int64)
try:
    f(x, x)
except RuntimeError as error:
    print("expected", type(error).__name__, error)
print("actual  ", torch.compile(f)(x, x))
