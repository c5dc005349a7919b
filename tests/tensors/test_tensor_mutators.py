"""Mutators of tensors, value by value."""

import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.core.random_streams import stream
from asterism.tensors import TENSOR_MUTATORS, FeatureRange, build_tensor_mutators

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


def test_mutators_are_built_by_name_with_their_fields():
    made = build_tensor_mutators({"noise": {"low": 0.0, "high": 0.0}, "scale": {"low": 1.25}})
    assert [type(one) for one in made.values()] == [TENSOR_MUTATORS[n] for n in ("noise", "scale")]
    assert (made["noise"].high, made["scale"].low, made["scale"].high) == (0.0, 1.25, 1.25)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("noise", {"low": -0.001}),
        ("noise", {"low": 0.2, "high": 0.1}),
        ("scale", {"low": 1.3}),
        ("zero_feature", {"low": 1.0}),
        ("nose", {}),
    ],
)
def test_impossible_ranges_are_rejected(name, fields):
    with pytest.raises(UserError, match=name):
        build_tensor_mutators({name: fields})


@pytest.mark.parametrize("width", [1e-3, 0.5, 1.0, 40.0])
def test_a_range_is_as_wide_as_what_was_observed(width):
    items = np.zeros((5, 2, 2), np.float32)
    items[..., 0] = np.linspace(3, 3 + width, 10).reshape(5, 2)
    ranges = FeatureRange.of(items)
    assert ranges.low.tolist() == [3, 0]
    assert ranges.high == pytest.approx([3 + width, 0], rel=1e-6)
    assert ranges.width == pytest.approx([width, 1], rel=1e-3)


@pytest.mark.parametrize("name", ["noise", "scale"])
def test_what_is_drawn_covers_its_range(name):
    mutator = TENSOR_MUTATORS[name]()
    draws = mutator.draw(stream(4), (2000, 3, 2))
    values = draws["deviation" if name == "noise" else "factor"]
    assert values.shape == (2000,)
    assert values.min() == pytest.approx(mutator.low, abs=1e-2 * mutator.high)
    assert values.max() == pytest.approx(mutator.high, rel=1e-2)
    assert mutator.low <= values.min() < values.max() < mutator.high


def test_any_feature_is_drawn_and_nothing_is_changed_in_place():
    drawn = TENSOR_MUTATORS["zero_feature"]().draw(stream(5), (200, 4, 3))["feature"]
    assert drawn.shape == (200,)
    assert set(drawn.tolist()) == {0, 1, 2}
    items = tensors()
    before, ranges = items.copy(), FeatureRange.of(items)
    for name in TENSOR_MUTATORS:
        mutator = TENSOR_MUTATORS[name]()
        draws = mutator.draw(stream(6), SHAPE)
        together = mutator.apply(items, draws, ranges)
        assert (items == before).all()
        for row in range(SHAPE[0]):
            own = {key: values[row : row + 1] for key, values in draws.items()}
            assert (mutator.apply(items[row : row + 1], own, ranges)[0] == together[row]).all()
