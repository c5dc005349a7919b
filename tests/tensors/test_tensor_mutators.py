"""Mutators of tensors, value by value."""

import numpy as np
import pytest

from asterism.core.randomness.random_streams import stream
from asterism.tensors import TENSOR_MUTATORS, FeatureRange

SHAPE = (6, 4, 3)


def tensors(dtype=np.float32):
    return np.random.default_rng(0).normal(0, [1, 10, 0.0], SHAPE).astype(dtype)


def change(name, value, index, draws, width):
    row, feature = index[0], index[-1]
    if name == "noise":
        return value + float(draws["noise"][index]) * float(draws["deviation"][row]) * width
    if name == "scale":
        return value * float(draws["factor"][row])
    return 0.0 if draws["feature"][row] == feature else value


@pytest.mark.parametrize("name", sorted(TENSOR_MUTATORS))
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_values_one_by_one(name, dtype):
    items = tensors(dtype)
    ranges = FeatureRange.of(items)
    mutator = TENSOR_MUTATORS[name]()
    draws = mutator.draw(stream(1), SHAPE)
    found = mutator.apply(items, draws, ranges)
    assert found.dtype == dtype
    for index in np.ndindex(SHAPE):
        feature = index[-1]
        low, high = float(ranges.low[feature]), float(ranges.high[feature])
        expected = change(name, float(items[index]), index, draws, high - low if high > low else 1)
        expected = min(max(expected, low), high)
        assert float(found[index]) == pytest.approx(expected, rel=2e-3, abs=1e-4)
        assert low <= found[index] <= high


def test_a_feature_that_never_varies_stays():
    items = tensors()
    items[..., 2] = 7
    ranges = FeatureRange.of(items)
    for name in TENSOR_MUTATORS:
        mutator = TENSOR_MUTATORS[name]()
        found = mutator.apply(items, mutator.draw(stream(2), SHAPE), ranges)
        assert (found[..., 2] == 7).all()
