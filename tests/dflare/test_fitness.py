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
@given(histories(), st.sampled_from([0.0, 0.213, 0.5]))
def test_rules_are_their_twins(rule, history, novelty):
    outputs, delta = history
    f, g, of_best = outputs[:, 0], outputs[:, 1], [True]
    fitness = FITNESSES[rule](1, delta, novelty)
    fitness.start(np.array([0]), outputs[:1].reshape(1, -1))
    observed = [(f[0], g[0])]
    best = np.float32(abs(f[0].max() - g[0].max()))
    for step in range(1, len(outputs)):
        gain = np.abs(f[step].max() - g[step].max()) - best
        own = np.array([0]), np.array([gain], np.float64), outputs[step].reshape(1, -1)
        (given_,) = fitness.replaces(*own)
        fitness.observe(*own)
        expected, distance = fitness_replaces(
            rule, delta, observed, best, f[step], g[step], novelty, of_best
        )
        assert given_ == expected
        best = distance if expected else best


def judge(fitness, outputs, gain):
    """Whether one mutant replaces the best, which is observed by then."""
    own = np.array([0]), np.array([gain]), np.array([outputs], np.float32)
    (found,) = fitness.replaces(*own)
    fitness.observe(*own)
    return found


def test_the_papers_rule_case_by_case():
    fitness = FITNESSES["paper"](1, 1e-3)

    def replaces(g_top, gain):
        return judge(fitness, [0.9, 0.1, g_top, 1 - g_top], gain)

    assert replaces(0.85, 0.05)  # larger by more than delta
    assert not replaces(0.85, 0.0)  # equal, and observed before
    assert replaces(0.849, 0.0005)  # within delta, but unobserved
    assert replaces(0.848, -0.0005)  # smaller within delta, and unobserved
    assert not replaces(0.89, -0.04)  # smaller by more than delta, though unobserved
    assert not replaces(0.89, 0.0005)  # within delta, observed by the step before


def test_algorithm_1_keeps_a_mutant_that_is_as_fit_as_the_best():
    """Line 6 has "at least": a seen state of the same D follows a best that was seen itself."""
    fitness = FITNESSES["formula"](1, 1e-3, 0.1)
    seed, near = [0.9, 0.1, 0.8, 0.2], [0.89, 0.11, 0.79, 0.21]
    fitness.start(np.array([0]), np.float32([seed]))
    assert not judge(fitness, near, 0.0)  # H falls by one: the seed was unobserved
    assert judge(fitness, near, 0.001)  # a gain of delta makes up for it
    assert judge(fitness, seed, 0.0)  # the best is an observed state itself by now
    assert not judge(fitness, seed, -0.0001)


@pytest.mark.parametrize("rule", sorted(FITNESSES))
@given(histories(), st.integers(0, 10_000))
def test_many_mutants_are_judged_as_one_after_the_other(rule, history, seed):
    """Two trajectories' mutants in one batch: up to the first that replaces, as the twin says."""
    outputs, delta = history
    rng = np.random.default_rng(seed)
    batched, singly = (FITNESSES[rule](2, delta, 0.213) for _ in "ab")
    owners = np.sort(rng.integers(0, 2, len(outputs) - 1))
    flat = outputs.reshape(len(outputs), -1)
    tops = np.abs(outputs[:, 0].max(axis=1) - outputs[:, 1].max(axis=1))
    gains = (tops[1:] - tops[0]).astype(np.float64)
    for fitness in (batched, singly):
        fitness.start(np.arange(2), flat[[0, 0]])
    judged = batched.replaces(owners, gains, flat[1:])
    for trajectory in range(2):
        for row in np.flatnonzero(owners == trajectory).tolist():
            own = owners[row : row + 1], gains[row : row + 1], flat[row + 1 : row + 2]
            assert singly.replaces(*own).tolist() == [judged[row]]
            singly.observe(*own)
            if judged[row]:
                break


def test_long_outputs_are_told_apart_as_short_ones_are():
    rng = np.random.default_rng(0)
    short = rng.integers(0, 2, (40, 3)).astype(np.float32)
    owners, gains = rng.integers(0, 2, 40), np.zeros(40)

    def replacing(outputs):
        fitness, found = FITNESSES["paper"](2, 1e-3), []
        for start in (0, 10, 20, 30):
            part = slice(start, start + 10)
            found += fitness.replaces(owners[part], gains[part], outputs[part]).tolist()
            fitness.observe(owners[part], gains[part], outputs[part])
        return found

    assert replacing(np.tile(short, 1000)) == replacing(short)
    assert 0 < sum(replacing(short)) < 40
