"""Streams side by side: each row's own, and as random as a generator's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.core.random_streams import BatchedStreams, draw_distinct_integers
from asterism.images import MUTATORS

KEYS = np.random.default_rng(0).integers(0, 1 << 64, 4000, dtype=np.uint64)


def splitmix64(state, count):
    """SplitMix64 in plain integers: the published generator."""
    words = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        word = state
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
        words.append(word ^ (word >> 31))
    return words


@given(st.integers(0, 2**64 - 1), st.integers(1, 9), st.integers(1, 9))
def test_a_stream_is_splitmix64(key, first, then):
    streams = BatchedStreams(np.array([key], np.uint64))
    drawn = [
        *streams.integers(0, 1 << 64, (1, first), dtype=np.uint64)[0].tolist(),
        *streams.integers(0, 1 << 64, (1, then), dtype=np.uint64)[0].tolist(),
    ]
    assert drawn == splitmix64(key, first + then)


def finalised(word):
    """SplitMix64's function of a word: the first word of the stream one step before it."""
    return splitmix64(word - 0x9E3779B97F4A7C15, 1)[0]


@given(st.integers(0, 2**64 - 1), st.integers(0, 40))
def test_a_stream_below_another_is_of_its_key_and_the_word_of_its_number(key, number):
    below = BatchedStreams(np.array([key], np.uint64)).below(np.array([number]))
    own = finalised(key ^ splitmix64(0, number + 1)[number])
    assert below.integers(0, 1 << 64, (1, 2), dtype=np.uint64)[0].tolist() == splitmix64(own, 2)


@pytest.mark.parametrize("size", [1, 2, 3, 30, 64, 65, 4096, 4097])
def test_distinct_integers_are_in_the_order_of_random_numbers(size):
    """Of as many bits as are left beside a place, in 32 bits where at least 20 are left."""
    key, bits = 77, max(1, (size - 1).bit_length())
    left = 2 ** ((32 if bits <= 12 else 64) - bits)
    words = splitmix64(key, size)
    expected = sorted(range(size), key=lambda place: (words[place] % left, place))
    for taken in {1, size // 2 or 1, size}:
        streams = BatchedStreams(np.array([key], np.uint64))
        assert draw_distinct_integers(streams, 1, taken, size)[0].tolist() == expected[:taken]


@given(st.integers(0, 2**64 - 1), st.floats(-9, 9), st.floats(0, 9))
def test_numbers_of_a_range_are_those_from_0_to_1_stretched(key, low, length):
    keys = np.array([key], np.uint64)
    shares = [word / 2**64 for word in splitmix64(key, 5)]
    assert BatchedStreams(keys).random((1, 5))[0] == pytest.approx(shares, abs=1e-15)
    found = BatchedStreams(keys).uniform(low, low + length, (1, 5))[0]
    assert found == pytest.approx([low + length * share for share in shares], abs=1e-12)
    whole = BatchedStreams(keys).integers(-3, 9, (1, 5))[0]
    assert whole.tolist() == [-3 + int(12 * share) for share in shares]


DRAWS = {
    "random": lambda s, n: s.random((n, 5)),
    "uniform": lambda s, n: s.uniform(-1.0, 3.0, (n, 1, 2)),
    "integers": lambda s, n: s.integers(-3, 9, (n, 4), endpoint=True),
    "ends": lambda s, n: s.integers(0, np.arange(1, 7), (n, 6)),
    "choice": lambda s, n: s.choice(np.array([2, 3, 5, 7]), n),
    "distinct": lambda s, n: draw_distinct_integers(s, n, 20, 30),
}


@pytest.mark.parametrize("kind", sorted(DRAWS))
@given(rows=st.lists(st.integers(0, 19), min_size=1, max_size=9))
def test_a_row_does_not_depend_on_the_others(kind, rows):
    everything = DRAWS[kind](BatchedStreams(KEYS[:20]), 20)
    some = DRAWS[kind](BatchedStreams(KEYS[:20]).of(np.array(rows)), len(rows))
    assert np.array_equal(some, everything[rows])


@pytest.mark.parametrize("name", sorted(MUTATORS))
def test_no_mutators_draw_for_an_image_depends_on_the_others(name):
    mutator, shape = MUTATORS[name](), (12, 9, 11, 3)
    whole = mutator.draw(BatchedStreams(KEYS[:12]), shape)
    part = mutator.draw(BatchedStreams(KEYS[3:8]), (5, *shape[1:]))
    for key, values in part.items():
        assert np.array_equal(values, whole[key][3:8])


def test_integers_and_choices_are_uniform():
    for drawn in (
        BatchedStreams(KEYS).integers(0, 5, (4000, 5)),
        BatchedStreams(KEYS).choice(np.arange(5), (4000, 5)),
        BatchedStreams(KEYS).integers(0, 4, (4000, 5), endpoint=True),
        draw_distinct_integers(BatchedStreams(KEYS), 4000, 5, 5),
        draw_distinct_integers(BatchedStreams(KEYS), 4000, 5, 5).T,
    ):
        counts = np.bincount(drawn.ravel(), minlength=5)
        assert np.abs(counts - 4000).max() < 6 * math.sqrt(4000)


def test_neighbouring_streams_are_unrelated():
    below = BatchedStreams(np.zeros(4000, np.uint64)).below(np.arange(4000))
    numbers = below.random((4000, 8))
    assert np.abs(np.corrcoef(numbers[:-1, 0], numbers[1:, 0])[0, 1]) < 0.06
    assert len(np.unique(numbers)) == numbers.size
