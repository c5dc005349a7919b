import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from asterism.core.randomness.random_streams import spawn_integer, stream

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
