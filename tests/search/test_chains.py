"""Chains side by side choose exactly what single chains choose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.core.streams import stream
from asterism.search.chains import MetropolisHastingsChains, UniformChains, UniformStreams
from asterism.search.metropolis import MetropolisHastings


class Replayed:
    """A generator whose every draw is the next number of [0, 1), as the chains read it."""

    def __init__(self, rng):
        self._rng = rng

    def random(self):
        return self._rng.random()

    def integers(self, high):
        return int(self._rng.random() * high)


@given(seed=st.integers(0, 10_000), candidates=st.integers(2, 9), chains=st.integers(1, 6))
def test_a_chain_is_the_single_chain(seed, candidates, chains):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (40, chains, candidates)) / 2
    many = MetropolisHastingsChains(
        chains,
        candidates,
        1 / candidates,
        UniformStreams([stream(seed, c) for c in range(chains)]),
    )
    current = {}
    singles = [
        MetropolisHastings(range(candidates), lambda k, c=c: current[c][k], 1 / candidates)
        for c in range(chains)
    ]
    replays = [Replayed(stream(seed, c)) for c in range(chains)]
    for step in range(40):
        current = dict(enumerate(scores[step]))
        # Chains drop out and come back: what one chooses does not depend on who else is there.
        present = np.flatnonzero(rng.random(chains) < 0.7)
        chosen = many.select(present, scores[step][present])
        assert chosen.tolist() == [singles[c].select(replays[c]) for c in present]


def test_better_candidates_are_chosen_more_often():
    streams = UniformStreams([stream(0, c) for c in range(50)])
    chains = MetropolisHastingsChains(50, 4, 0.4, streams)
    scores = np.tile([0.1, 0.9, 0.5, 0.0], (50, 1))
    counts = np.zeros(4)
    for _ in range(400):
        counts += np.bincount(chains.select(np.arange(50), scores), minlength=4)
    assert counts.argsort().tolist() == [3, 0, 2, 1]
    assert counts.max() > 2 * counts.min()


def test_uniform_is_uniform():
    chains = UniformChains(5, UniformStreams([stream(1, c) for c in range(20)]))
    counts = np.zeros(5)
    for _ in range(500):
        counts += np.bincount(chains.select(np.arange(20), np.zeros((20, 5))), minlength=5)
    assert counts / counts.sum() == pytest.approx(np.full(5, 0.2), abs=0.02)


@pytest.mark.parametrize("p", [0, 1, -0.1])
def test_p_is_checked(p):
    with pytest.raises(ValueError, match=r"\(0, 1\)"):
        MetropolisHastingsChains(1, 3, p, UniformStreams([stream(0)]))
