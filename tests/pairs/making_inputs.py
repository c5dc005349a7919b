"""Inputs made by name."""

import numpy as np

from asterism.core.parameters.construction import options_of
from asterism.pairs.inputs import INPUT_MAKERS


def make(name, count, rng=0, find=None, **options):
    """Inputs of a maker, with a stream of random numbers or the seed of one."""
    stream = np.random.default_rng(rng) if isinstance(rng, int) else rng
    return INPUT_MAKERS[name].make(count, options_of(INPUT_MAKERS, name, options), stream, find)
