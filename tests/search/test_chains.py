"""Chains, side by side and single, choose exactly what the paper's algorithm chooses."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metropolis_twin import select

from asterism.search.chains import (
    FEW_NUMBERS,
    NOWHERE,
    NUMBERS,
    MetropolisHastingsChains,
    UniformChains,
)
from asterism.search.metropolis import MetropolisHastings, Uniform


class Replayed:
    """A generator whose every draw is the next of the given numbers."""

    def __init__(self, numbers):
        self._numbers = iter(numbers)

    def random(self):
        return next(self._numbers)

    def integers(self, high):
        return int(next(self._numbers) * high)


@given(seed=st.integers(0, 10_000), candidates=st.integers(2, 9), chains=st.integers(1, 6))
def test_chains_and_single_chains_are_the_papers(seed, candidates, chains):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (40, chains, candidates)) / 2
    many = MetropolisHastingsChains(candidates, 1 / candidates)
    current = {}
    singles = [
        MetropolisHastings(range(candidates), lambda k, c=c: current[c][k], 1 / candidates)
        for c in range(chains)
    ]
    chosen, last = [NOWHERE] * chains, [None] * chains
    for step in range(40):
        current = dict(enumerate(scores[step]))
        # Chains drop out and come back: what one chooses does not depend on who else is there.
        present = np.flatnonzero(rng.random(chains) < 0.7)
        numbers = rng.random((len(present), NUMBERS)).tolist()
        for c, own in zip(present, numbers, strict=True):
            scored = current[c].tolist()
            p = 1 / candidates
            before = chosen[c]
            chosen[c] = many.select(before, scored, own)
            assert many.select(before, scored, own[:FEW_NUMBERS]) in (chosen[c], None)
            last[c] = select(range(candidates), last[c], scored.__getitem__, p, Replayed(own))
            assert chosen[c] == singles[c].select(Replayed(own)) == last[c]


def test_better_candidates_are_chosen_more_often():
    chains, rng = MetropolisHastingsChains(4, 0.4), np.random.default_rng(0)
    chosen, counts = NOWHERE, np.zeros(4)
    for numbers in rng.random((20_000, NUMBERS)).tolist():
        chosen = chains.select(chosen, [0.1, 0.9, 0.5, 0.0], numbers)
        counts[chosen] += 1
    assert counts.argsort().tolist() == [3, 0, 2, 1]
    assert counts.max() > 2 * counts.min()


def test_uniform_is_uniform():
    chains, rng, counts = UniformChains(5), np.random.default_rng(1), np.zeros(5)
    for numbers in rng.random((10_000, 2)).tolist():
        counts[chains.select(NOWHERE, [0.0] * 5, numbers)] += 1
    assert counts / counts.sum() == pytest.approx(np.full(5, 0.2), abs=0.02)


def test_a_candidate_that_is_added_can_be_chosen_and_the_chain_stays_where_it_is():
    scores = {"a": 0.0, "b": 0.0, "c": 9.0}
    chain = MetropolisHastings(["a", "b"], scores.__getitem__, 0.9)
    uniform, rng = Uniform(["a", "b"]), np.random.default_rng(2)
    assert {uniform.select(rng) for _ in range(50)} == {"a", "b"}
    assert {chain.select(rng) for _ in range(50)} == {"a", "b"}
    last = chain.current
    chain.add("c")
    uniform.add("c")
    assert chain.current == last
    counts = Counter(uniform.select(rng) for _ in range(6000))
    assert all(abs(counts[candidate] - 2000) < 200 for candidate in scores)
    chosen = Counter(chain.select(rng) for _ in range(600))
    assert chosen["c"] > chosen["a"] + chosen["b"]


def test_a_chain_needs_a_candidate():
    with pytest.raises(ValueError, match="nothing to choose from"):
        MetropolisHastings([], float, 0.5)


@pytest.mark.parametrize("p", [0, 1, -0.1, 1.5])
def test_a_single_chain_checks_p(p):
    with pytest.raises(ValueError, match=r"\(0, 1\)"):
        MetropolisHastings([1, 2], float, p)


def test_numbers_whose_proposals_are_all_refused_choose_nothing():
    chains = MetropolisHastingsChains(4, 0.9)
    worst_each_time = [0.99, 0.5] * 4  # the last candidate, three ranks down: a chance of 0.001
    assert chains.select(0, [0.9, 0.5, 0.4, 0.0], worst_each_time) is None
    assert chains.select(0, [0.9, 0.5, 0.4, 0.0], [*worst_each_time, 0.0, 0.99]) == 0


@pytest.mark.parametrize("p", [0, 1, -0.1])
def test_p_is_checked(p):
    with pytest.raises(ValueError, match=r"\(0, 1\)"):
        MetropolisHastingsChains(3, p)
