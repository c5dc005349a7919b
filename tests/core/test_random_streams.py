"""Random streams by name, and what is drawn for a batch at once."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from asterism.core.random_streams import (
    LEVELS,
    Ranged,
    draw_distinct_integers,
    draw_standard_normal,
    draw_uniform_levels,
    mix_bits,
    spawn_integer,
    stream,
)


class Words:
    """Gives words of 64 bits that are known, and notes what it was asked for."""

    def __init__(self, words):
        self.words, self.asked = np.asarray(words, np.uint64), []

    def integers(self, low, high, size, dtype):
        self.asked.append((low, high, size, dtype))
        return self.words.reshape(size).copy()


def test_levels_are_all_of_the_16_bits_of_each_word_in_turn():
    words = Words([0x0004000300020001, 0x0008000700060005, 0xFFFF00000000000A, 0x8000000000000001])
    found = draw_uniform_levels(words, (2, 2, 3))
    assert words.asked == [(0, 1 << 64, (2, 2), np.uint64)]
    assert found.dtype == np.uint16
    expected = [[[1, 2, 3], [4, 5, 6]], [[10, 0, 0], [0xFFFF, 1, 0]]]
    assert found.tolist() == expected


@pytest.mark.parametrize("shape", [(3, 8), (3, 7), (1, 1), (2,), (4, 0)])
def test_levels_have_any_shape(shape):
    assert draw_uniform_levels(np.random.default_rng(0), shape).shape == shape


def test_normal_numbers_are_those_of_the_middle_of_each_level():
    levels = np.arange(LEVELS, dtype=np.uint16)
    drawn = draw_standard_normal(Words(levels.view(np.uint64)), (1, LEVELS))
    assert drawn.dtype == np.float32 and drawn.shape == (1, LEVELS)
    expected = norm.ppf((levels + 0.5) / 65536)
    assert np.allclose(drawn[0], expected, rtol=1e-6, atol=1e-6)
    assert abs(drawn.mean()) < 1e-6 and abs(drawn.std() - 1) < 1e-3
    assert 4.3 < drawn.max() < 4.4


@pytest.mark.parametrize("below", [1, 2, 5, 4096, 4097])
@pytest.mark.parametrize("some", [False, True])
def test_integers_of_a_row_are_distinct_and_follow_the_order_of_the_words(below, some):
    rng = np.random.default_rng(1)
    # The words' lower bits are kept; what the upper ones hold here is shifted out.
    order = np.stack([rng.permutation(below) for _ in range(2)])
    upper = rng.integers(0, 1 << 8, (2, below)).astype(np.uint64) << np.uint64(56)
    words = Words(np.argsort(order, axis=1).astype(np.uint64) | upper)
    size = max(1, below // 2) if some else below
    found = draw_distinct_integers(words, 2, size, below)
    assert words.asked == [(0, 1 << 64, (2, below), np.uint64)]
    assert found.dtype == np.int64
    assert found.tolist() == order[:, :size].tolist()


def test_every_order_is_about_equally_likely():
    drawn = draw_distinct_integers(np.random.default_rng(0), 2400, 3, 4).tolist()
    counts = dict.fromkeys(permutations(range(4), 3), 0)
    for row in drawn:
        counts[tuple(row)] += 1
    assert len(counts) == 24 and min(counts.values()) > 60 and max(counts.values()) < 150


def test_mixing_is_the_output_function_of_splitmix64():
    """The first outputs of the generator from state 0, as its authors' code gives them."""
    states = np.arange(1, 4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = mix_bits(states)
    assert mixed is states
    assert [hex(word) for word in mixed.tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


@dataclass(frozen=True)
class Drawn(Ranged):
    low: float = 0.0
    high: float = 0.5
    mean_low: float = 0.0
    mean_high: float = 0.5
    slow: float = 0.0


def test_a_range_that_ends_before_it_begins_is_rejected():
    Drawn(low=1.0, high=1.0)
    Drawn(low=-1.0, high=2.0, slow=9.0)
    for wrong in ({"low": 1.0}, {"high": -0.5}, {"mean_low": 1.0}):
        with pytest.raises(ValueError, match=r"Drawn ends at (0\.5|-0\.5), before (1\.0|0\.0)"):
            Drawn(**wrong)


names = st.lists(st.one_of(st.integers(), st.text(max_size=8)), max_size=4)


@given(st.integers(0, 2**40), names)
def test_equal_names_give_equal_streams(seed, path):
    assert stream(seed, *path).integers(2**60) == stream(seed, *path).integers(2**60)


@given(st.integers(0, 9), names, names)
def test_different_names_give_different_streams(seed, one, other):
    same = [(type(p), p) for p in one] == [(type(p), p) for p in other]
    draws = [stream(seed, *path).integers(2**62, size=2) for path in (one, other)]
    assert np.array_equal(*draws) == same


def test_a_stream_is_the_same_in_every_process():
    assert stream(3, "fuzz", "state", 7).integers(1000, size=4).tolist() == [24, 517, 759, 326]
    assert spawn_integer(3, "train") == 1014801382 < 2**31
