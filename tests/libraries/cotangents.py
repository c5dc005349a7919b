"""Weights of an output's elements in the sum that is differentiated: a second description."""

import numpy as np


def cotangent(shape):
    """Cosines of the numbers of the elements, in their order."""
    return np.cos(np.arange(int(np.prod(shape)), dtype=np.float64)).reshape(shape)
