"""What given texts tell of tokens: the one that fills up, and those at the ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.asking.request import find_padding_token, find_special_tokens

START, END = 101, 102


def texts(pad, count=30, length=12, seed=0):
    """Texts with tokens at both ends, filled up."""
    rng = np.random.default_rng(seed)
    items = np.full((count, length), pad)
    for row in items:
        end = int(rng.integers(4, length - 2))
        row[:end] = rng.integers(200, 900, end)
        row[0], row[end] = START, END
    return items


@given(st.integers(0, 99), st.integers(0, 99))
def test_padding_and_special_tokens_of_any_number(pad, seed):
    items = texts(pad, seed=seed)
    assert find_padding_token(items, 0) == pad
    assert find_special_tokens(items, pad) == [START, END]


@pytest.mark.parametrize("length", [1, 12])
def test_full_texts_tell_no_padding(length):
    items = np.random.default_rng(0).integers(200, 900, (30, length))
    assert find_padding_token(items, 5) == 5
    assert find_special_tokens(items, 5) == []


def test_a_doubled_word_at_the_end_of_one_text_is_no_padding():
    items = np.random.default_rng(0).integers(200, 900, (30, 12))
    items[3, -1] = items[3, -2]
    assert find_padding_token(items, 0) == 0


def test_a_token_between_others_fills_nothing_up():
    items = np.random.default_rng(0).integers(200, 900, (30, 12))
    items[3, [5, -1]] = 0
    assert find_padding_token(items, 0) is None
    items[3, :5] = 0  # filled up at the beginning
    assert find_padding_token(items, 0) == 0


def test_few_texts_tell_no_special_tokens():
    assert find_special_tokens(texts(0, count=3), 0) == []


def test_what_is_empty_has_no_end():
    items = texts(0)
    items[4] = 0
    assert find_special_tokens(items, 0) == []
