"""A bound on mutants: what success then says about a model, and how it is asked for."""

import numpy as np
import pytest
from subjects import CLASSES, Linear, search, seeds, under_test

from asterism.dflare.lockstep import SeedBudget
from asterism.dflare.params import BoundParams

#: Deviation of the noise on the weights, in units of each weight's own deviation.
DAMAGE = [0.02, 0.1, 0.4, 0.8]
OPERATORS = {"gaussian_noise": {"low": 1.0, "high": 80.0}, "pixel_change": {"low": 1, "high": 30}}


def success(amount, bound):
    """The share of seeds that deviate already, or from which the search finds a deviation."""
    weights = np.random.default_rng(0).normal(0, 1, (36, CLASSES))
    weights -= weights.mean(axis=0)
    noise = np.random.default_rng(1).normal(0, amount * weights.std(), weights.shape)
    original, damaged = (Linear(w.astype(np.float32)) for w in (weights, weights + noise))
    subject = under_test(original, damaged, OPERATORS, bound=bound)
    findings = search(seeds(60, seed=7), budget=SeedBudget(150), subject=subject).run()
    return sum(r.outcome in ("triggered", "deviates_already") for r in findings.seeds) / 60


@pytest.mark.slow
def test_with_a_bound_success_ranks_models_of_known_damage_and_without_it_does_not():
    free = [success(amount, None) for amount in DAMAGE]
    bounded = [success(amount, BoundParams(measure="linf", limit=3.0)) for amount in DAMAGE]
    assert min(free) > 0.9, "whatever the damage, a search without a bound succeeds"
    assert bounded == sorted(bounded)
    assert len(set(bounded)) == len(bounded)
    assert bounded[0] < 0.2 < 0.5 < bounded[-1]


@pytest.mark.parametrize("name", ["dflare", "diffchaser"])
@pytest.mark.parametrize(
    "bound",
    [
        BoundParams(measure="linf", limit=4.0),
        BoundParams(measure="l2", limit=10.0),
        BoundParams(measure="pixels", limit=2.0),
    ],
)
def test_every_query_of_every_search_lies_within(name, bound, monkeypatch):
    subject, items, asked = under_test(bound=bound), seeds(8), []
    task = search(items, subject=subject, name=name)
    real = task.propose

    def propose(trajectories):
        proposal = real(trajectories)
        asked.append((proposal.owners, proposal.items))
        return proposal

    monkeypatch.setattr(task, "propose", propose)
    task.run()
    assert asked
    for owners, mutants in asked:
        assert subject.domain.within(mutants, items[owners], bound.measure, bound.limit).all()


def test_a_seed_within_a_bound_is_the_same_in_any_batch():
    subject = under_test(bound=BoundParams(measure="pixels", limit=3.0))

    def rows(part):
        findings = search(seeds(12)[part], part, budget=SeedBudget(80), subject=subject).run()
        return [(r.seed, r.outcome, r.queries) for r in findings.seeds]

    together = rows(list(range(12)))
    assert rows([3]) + rows([5, 8]) == [r for r in together if r[0] in (3, 5, 8)]
