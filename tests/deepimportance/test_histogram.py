"""Counting values, first exactly and then in cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.deepimportance import clusters as module
from asterism.deepimportance.clusters import Histogram

NUMBERS = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=60)
CELLS = 8


@pytest.fixture(autouse=True, scope="module")
def few_cells():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CELLS", CELLS)
        yield


def histogram(parts):
    result = Histogram()
    for part in parts:
        result.add(np.array(part, np.float32))
    return result


@given(st.lists(st.integers(0, CELLS - 1), max_size=60))
def test_few_values_are_counted_exactly(numbers):
    found = histogram([numbers[:20], numbers[20:]])
    values, counts = np.unique(numbers, return_counts=True)
    np.testing.assert_array_equal(found.values(), values)
    np.testing.assert_array_equal(found.counts(), counts)


@given(NUMBERS, st.randoms(use_true_random=False))
def test_cells_keep_number_and_mean_whatever_the_order(numbers, random):
    whole = histogram([numbers])
    shuffled = random.sample(numbers, len(numbers))
    pieces = histogram([shuffled[i : i + 5] for i in range(0, len(numbers), 5)])
    assert len(whole.values()) <= CELLS + 1
    assert np.all(np.diff(whole.values()) > 0)
    np.testing.assert_array_equal(pieces.counts(), whole.counts())
    np.testing.assert_allclose(pieces.values(), whole.values(), rtol=1e-9, atol=1e-9)
    assert whole.counts().sum() == len(numbers)
    total = np.array(numbers, np.float32).astype(float).sum()
    assert (whole.counts() * whole.values()).sum() == pytest.approx(total, rel=1e-6, abs=1e-3)


def test_cells_are_no_wider_than_they_must_be():
    numbers = np.arange(2, 18, dtype=np.float32)
    np.testing.assert_array_equal(histogram([numbers]).values(), np.arange(2.5, 18, 2))


@given(NUMBERS, st.integers(1, 5))
def test_zeros_share_no_cell(numbers, zeros):
    others = [number for number in numbers if np.float32(number) != 0]
    found = histogram([[*others[:3], *[0.0] * zeros], [-0.0], others[3:]])
    assert found.counts()[found.values() == 0] == [zeros + 1]
    np.testing.assert_array_equal(found.values()[found.values() != 0], histogram([others]).values())
