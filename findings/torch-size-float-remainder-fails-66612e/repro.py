"""fails | torch | size float remainder(). Seen with torch 2.13.0+cpu; see check.py."""

import numpy as np
import torch

import math
inputs = [torch.tensor(np.zeros((6, 5), 'float32'))]


def f(x):
    return (lambda n: x * (n % 2.5))(x.shape[0])


expected = f(*inputs)
print('expected', expected)
actual = torch.compile(f, dynamic=True)(*inputs)
print('actual  ', actual)
