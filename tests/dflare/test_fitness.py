"""The fitness rules, against the paper's sentences in plain loops."""

import numpy as np
import pytest
from dflare_twins import fitness_replaces
from hypothesis import given
from hypothesis import strategies as st

from asterism.dflare.fitness import FITNESSES


@st.composite
def histories(draw):
    """Outputs on a coarse grid, so that equal ones and equal distances occur."""
    length = draw(st.integers(2, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    raw = rng.integers(1, 4, (length, 2, 3)).astype(np.float32)
    outputs = raw / raw.sum(axis=2, keepdims=True)
    return outputs, draw(st.sampled_from([0.0, 1e-3, 0.05, 0.2]))


@pytest.mark.parametrize("rule", sorted(FITNESSES))
@given(histories())
def test_rules_are_their_twins(rule, history):
    outputs, delta = history
    f, g = outputs[:, 0], outputs[:, 1]
    fitness = FITNESSES[rule](1, delta)
    lane = np.zeros(1, np.int64)
    fitness.start(lane, f[:1], g[:1])
    observed = [(f[0], g[0])]
    best = np.float32(abs(f[0].max() - g[0].max()))
    for step in range(1, len(outputs)):
        distance = np.abs(f[step : step + 1].max(1) - g[step : step + 1].max(1))
        given_ = fitness.improves(
            lane, f[step : step + 1], g[step : step + 1], distance, np.array([best])
        )[0]
        expected, own = fitness_replaces(rule, np.float32(delta), observed, best, f[step], g[step])
        assert given_ == expected
        best = own if expected else best


def test_the_papers_rule_case_by_case():
    fitness = FITNESSES["paper"](1, 1e-3)
    lane = np.zeros(1, np.int64)
    f = np.array([[0.9, 0.1]], np.float32)

    def improves(g_top, distance, best):
        g = np.array([[g_top, 1 - g_top]], np.float32)
        return bool(
            fitness.improves(
                lane, f, g, np.array([distance], np.float32), np.array([best], np.float32)
            )[0]
        )

    assert improves(0.85, 0.05, 0.0)  # larger by more than delta
    assert not improves(0.85, 0.05, 0.05)  # equal, and observed before
    assert improves(0.849, 0.051, 0.0505)  # within delta, but unobserved
    assert not improves(0.89, 0.01, 0.05)  # smaller by more than delta, though unobserved
    assert not improves(0.89, 0.01, 0.0105)  # within delta, observed by the step before


def test_the_released_rule_takes_smaller_distances_too():
    lane, f = np.zeros(1, np.int64), np.array([[0.9, 0.1]], np.float32)
    smaller = (np.array([0.01], np.float32), np.array([0.5], np.float32))
    assert FITNESSES["released"](1, 1e-3).improves(lane, f, f, *smaller)[0]
    assert not FITNESSES["paper"](1, 1e-3).improves(lane, f, f, *smaller)[0]
