"""crashes | torch | whole truncated division by zero(). Seen with torch 2.13.0+cpu; see check.py."""

import numpy as np
import torch

inputs = [torch.tensor(np.zeros((3, 4), 'int64')), torch.tensor(np.zeros((3, 4), 'int64'))]


def f(x, y):
    return torch.div(x, y, rounding_mode='trunc')


try:
    expected = f(*inputs)
except Exception as error:
    print('expected', type(error).__name__, error)
actual = torch.compile(f)(*inputs)
print('actual  ', actual)
