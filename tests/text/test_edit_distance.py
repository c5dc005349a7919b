"""Edit distances of many pairs at once are those of the plain recursion."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.text.edit_distance import apply_edits, edit_distances, edit_script

words = st.lists(st.integers(0, 3), max_size=14)


def slow(first, second):
    @cache
    def left(i, j):
        if not i or not j:
            return i + j
        replaced = left(i - 1, j - 1) + (first[i - 1] != second[j - 1])
        return min(replaced, left(i - 1, j) + 1, left(i, j - 1) + 1)

    return left(len(first), len(second))


def padded(rows, width):
    table = np.full((len(rows), width), 9, np.int32)
    for row, symbols in zip(table, rows, strict=True):
        row[: len(symbols)] = symbols
    return table, np.array([len(row) for row in rows], np.int64)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=6), st.sampled_from([None, 0, 1, 3]))
def test_distances_of_many_pairs(pairs, at_most):
    width = max(1, *(len(word) for pair in pairs for word in pair))
    (first, lengths), (second, others) = (padded([p[n] for p in pairs], width) for n in range(2))
    found = edit_distances(first, second, lengths, others, at_most)
    exact = [slow(*map(tuple, pair)) for pair in pairs]
    limit = 99 if at_most is None else at_most
    assert [min(n, limit + 1) for n in exact] == [min(n, limit + 1) for n in found.tolist()]


@given(words, words)
def test_a_script_is_as_short_as_the_distance_and_leads_there(item, reference):
    one, other = np.array(item, np.int64), np.array(reference, np.int64)
    script = edit_script(one, other)
    assert len(script) == slow(tuple(item), tuple(reference))
    assert apply_edits(other, script).tolist() == item
    assert apply_edits(other, []).tolist() == reference


@pytest.mark.parametrize("length", [200, 900])
def test_long_pairs(length):
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 4, (3, length)) for _ in range(2))
    second[0] = first[0]
    second[1, 5:] = first[1, :-5]
    sizes = np.full(3, length)
    found = edit_distances(first, second, sizes, sizes)
    assert found[0] == 0
    assert found[1] <= 10 < found[2]
    assert found[2] == len(edit_script(first[2].astype(np.int64), second[2].astype(np.int64)))


@pytest.mark.parametrize("largest", [0, 0xD800, 0xDFFF, 0x10FFFF, 0x110000, 2**40])
def test_symbols_may_be_any_numbers(largest):
    one, other = np.array([[1, largest, largest - 1, 2]]), np.array([[1, largest - 1, 2, 0]])
    assert edit_distances(one, other, np.array([4]), np.array([3])).tolist() == [1]
    script = edit_script(one[0], other[0, :3])
    assert apply_edits(other[0, :3], script).tolist() == one[0].tolist()
    assert len(script) == 1
