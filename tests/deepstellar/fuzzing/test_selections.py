"""Every selection strategy, against the same rule written one choice at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import configure
from asterism.core.random_streams import stream
from asterism.deepstellar.selections import SELECTIONS

NAMES = SELECTIONS.names()


def test_the_published_strategies_are_there() -> None:
    assert set(NAMES) == {"random", "recent", "depth_first", "round_robin", "probability"}


@pytest.mark.parametrize("name", NAMES)
@given(
    chosen=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    count=st.integers(1, 60),
    seed=st.integers(0, 2**32),
)
def test_choices_are_entries_of_the_queue_and_repeatable(
    name: str, chosen: list[int], count: int, seed: int
) -> None:
    strategy = configure(SELECTIONS, name, {})
    counts = np.array(chosen)
    last = seed % len(chosen)
    first = strategy.choose(counts.copy(), last, count, stream(seed))
    again = strategy.choose(counts.copy(), last, count, stream(seed))
    assert first.shape == (count,)
    assert first.min() >= 0 and first.max() < len(chosen)
    assert np.array_equal(first, again)
    untouched = counts.copy()
    strategy.choose(untouched, last, count, stream(seed))
    assert np.array_equal(untouched, counts)


# Deterministic strategies: the very same choices.


@given(size=st.integers(1, 20), last=st.integers(-1, 19), count=st.integers(1, 50))
def test_round_robin_goes_around(size: int, last: int, count: int) -> None:
    expected, position = [], min(last, size - 1)
    for _ in range(count):
        position = 0 if position + 1 >= size else position + 1
        expected.append(position)
    strategy = configure(SELECTIONS, "round_robin", {})
    chosen = strategy.choose(np.zeros(size, np.int64), min(last, size - 1), count, stream(0))
    assert chosen.tolist() == expected


@given(
    used=st.lists(st.integers(0, 25), min_size=1, max_size=12),
    tries=st.integers(1, 6),
    count=st.integers(1, 60),
)
def test_depth_first_takes_the_newest_that_has_tries_left(
    used: list[int], tries: int, count: int
) -> None:
    counts, expected = list(used), []
    for _ in range(count):
        least = min(n // tries for n in counts)
        newest = max(i for i, n in enumerate(counts) if n // tries == least)
        counts[newest] += 1
        expected.append(newest)
    strategy = configure(SELECTIONS, "depth_first", {"tries": tries})
    assert strategy.choose(np.array(used), -1, count, stream(0)).tolist() == expected


# Random strategies: the same distribution, by 20,000 choices each.


def slow_uniform(counts: list[int], rng: np.random.Generator) -> int:
    return int(rng.integers(len(counts)))


def slow_recent(counts: list[int], rng: np.random.Generator) -> int:
    reservoir = [*range(len(counts))[-5:], int(rng.integers(len(counts)))]
    return reservoir[int(rng.integers(len(reservoir)))]


def slow_probability(counts: list[int], rng: np.random.Generator) -> int:
    while True:
        entry = int(rng.integers(len(counts)))
        if rng.random() < max(0.8 - counts[entry] / 5, 0.3):
            return entry


@pytest.mark.parametrize(
    ("name", "slow"),
    [("random", slow_uniform), ("recent", slow_recent), ("probability", slow_probability)],
)
@pytest.mark.parametrize("counts", [[0, 1, 2, 3, 9, 0, 50, 1], [7], [0, 0, 1]])
def test_random_choices_have_the_published_distribution(
    name: str, slow: Callable[[list[int], np.random.Generator], int], counts: list[int]
) -> None:
    rng = np.random.default_rng(0)
    expected = np.bincount([slow(counts, rng) for _ in range(20000)], minlength=len(counts))
    strategy = configure(SELECTIONS, name, {})
    chosen = strategy.choose(np.array(counts), -1, 20000, stream(1))
    got = np.bincount(chosen, minlength=len(counts))
    assert np.all(np.abs(got - expected) <= 6 * np.sqrt(expected + 1))


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("probabilty", {}, "did you mean 'probability'"),
        ("probability", {"gama": 1}, "did you mean 'gamma'"),
        ("probability", {"floor": 0.9}, "floor ≤ initial"),
        ("probability", {"gamma": 0}, "above 0"),
        ("recent", {"newest": 0}, "at least 1"),
        ("depth_first", {"tries": 0}, "at least 1"),
    ],
)
def test_impossible_options(name: str, options: dict[str, float], told: str) -> None:
    with pytest.raises(UserError, match=told):
        configure(SELECTIONS, name, options)
