"""Chains choose exactly what the papers' algorithm chooses, whoever gives the random numbers."""

from collections import Counter
from itertools import repeat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metropolis_twin import select

from asterism.core.metropolis import MetropolisHastings, PrecomputedDraws, Selector


@given(seed=st.integers(0, 10_000), candidates=st.integers(2, 9), chains=st.integers(1, 6))
def test_choices_are_the_papers(seed, candidates, chains):
    rng, p = np.random.default_rng(seed), 1 / candidates
    chain, names = MetropolisHastings(p), [f"n{k}" for k in range(candidates)]
    scores = rng.integers(0, 3, (40, chains, candidates)) / 2
    chosen, named, last = [None] * chains, [None] * chains, [None] * chains
    for step in range(40):
        # Chains drop out and come back: what one chooses does not depend on who else is there.
        for c in np.flatnonzero(rng.random(chains) < 0.7):
            own, scored = rng.random(400).tolist(), scores[step, c].tolist()
            score = scored.__getitem__
            last[c] = select(range(candidates), last[c], score, p, PrecomputedDraws(iter(own)))
            chosen[c] = chain.select(
                range(candidates), score, chosen[c], PrecomputedDraws(iter(own))
            )
            assert chosen[c] == last[c]
            by_name = dict(zip(names, scored, strict=True)).__getitem__
            named[c] = chain.select(names, by_name, named[c], PrecomputedDraws(iter(own)))
            assert named[c] == f"n{last[c]}"


@given(seed=st.integers(0, 10_000), candidates=st.integers(1, 9), p=st.floats(0.01, 0.99))
def test_a_generator_is_asked_as_the_twin_asks_it(seed, candidates, p):
    ours, twins = np.random.default_rng(seed), np.random.default_rng(seed)
    scores, chosen, last = np.random.default_rng(0).integers(0, 4, candidates), None, None
    for _ in range(30):
        chosen = MetropolisHastings(p).select(range(candidates), scores.item, chosen, ours)
        last = select(range(candidates), last, scores.item, p, twins)
        assert chosen == last
    assert ours.random() == twins.random()


@given(seed=st.integers(0, 10_000), count=st.integers(1, 9), p=st.floats(0.01, 0.99))
def test_the_first_proposal_within_its_reach_is_the_one_that_is_selected(seed, count, p):
    rng = np.random.default_rng(seed)
    numbers, scores = rng.random((30, 8)), rng.integers(0, 4, count)
    ranked = sorted(range(count), key=scores.item, reverse=True)
    for selector in (MetropolisHastings(p), Selector()):
        proposals, reach = selector.proposals(count, numbers)
        for row, (current, own) in enumerate(zip(rng.integers(0, count, 30), numbers, strict=True)):
            accepted = [
                proposal
                for proposal, down in zip(proposals[row], reach[row], strict=True)
                if ranked.index(proposal) - ranked.index(current) <= down
            ]
            draws = PrecomputedDraws(iter([*own.tolist(), *rng.random(4000).tolist()]))
            chosen = selector.select(range(count), scores.item, int(current), draws)
            assert not accepted or chosen == accepted[0]


def test_a_candidate_that_is_added_can_be_chosen_next():
    scores, rng = {"a": 0.0, "b": 0.0, "c": 9.0}, np.random.default_rng(2)
    chain, candidates, current = MetropolisHastings(0.9), ["a", "b"], None
    for _ in range(50):
        current = chain.select(candidates, scores.__getitem__, current, rng)
    candidates.append("c")
    chosen = Counter()
    for _ in range(600):
        current = chain.select(candidates, scores.__getitem__, current, rng)
        chosen[current] += 1
    assert chosen["c"] > chosen["a"] + chosen["b"]
    uniform = Counter(Selector().select(candidates, float, None, rng) for _ in range(6000))
    assert all(abs(uniform[candidate] - 2000) < 200 for candidate in scores)


@pytest.mark.parametrize("p", [0, 1, -0.1, 1.5])
def test_p_is_checked(p):
    with pytest.raises(ValueError, match=r"\(0, 1\)"):
        MetropolisHastings(p)


def test_proposals_are_drawn_until_one_is_accepted():
    # The last candidate, three ranks down, has a chance of 0.001: it is rejected 100 times.
    rejected = [0.99, 0.5] * 100
    draws = PrecomputedDraws(iter([*rejected, 0.0, 0.99]))
    assert MetropolisHastings(0.9).select(range(4), [0.9, 0.5, 0.4, 0.0].__getitem__, 0, draws) == 0


def test_a_long_way_up_is_no_overflow():
    draws = PrecomputedDraws(repeat(0.0))
    count = 40_000  # (1 - p) to the power of -39,999 is no floating-point number
    assert MetropolisHastings(0.05).select(range(count), lambda k: -k, count - 1, draws) == 0
