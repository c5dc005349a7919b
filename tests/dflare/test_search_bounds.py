"""A bound on mutants: what success then says about a model, and how it is asked for."""

import numpy as np
import pytest
from small_pairs import KerasModel, images, trained
from subjects import TOP_LABEL, search, seeds, under_test

from asterism.core.parameters.construction import NoOptions
from asterism.dflare.domains.images import ImageDomain
from asterism.dflare.lockstep import PairUnderTest, SeedBudget
from asterism.dflare.pair import ModelPair
from asterism.dflare.params import BoundParams

#: Deviation of the noise on the weights, in units of each weight's own deviation.
DAMAGE = [0.02, 0.1, 0.4, 0.8]
OPERATORS = {"gaussian_noise": {"low": 1.0, "high": 80.0}, "pixel_change": {"low": 1, "high": 30}}


def damaged(model, amount):
    import keras

    rng = np.random.default_rng(0)
    copy = keras.models.clone_model(model)
    weights = [w + rng.normal(0, 1, w.shape) * amount * w.std() for w in model.get_weights()]
    copy.set_weights(weights)
    return KerasModel(copy)


def success(original, compressed, bound):
    """The share of seeds that deviate already, or from which the search finds a deviation."""
    items, _ = images(150, seed=7)
    subject = PairUnderTest(
        ModelPair(original, compressed),
        ImageDomain(OPERATORS, NoOptions()),
        TOP_LABEL,
        bound,
    )
    findings = search(items, budget=SeedBudget(150), subject=subject).run()
    return sum(r.outcome in ("triggered", "deviates_already") for r in findings.seeds) / 150


@pytest.mark.slow
def test_with_a_bound_success_ranks_models_of_known_damage_and_without_it_does_not():
    original = KerasModel(trained("images"))
    models = [damaged(trained("images"), amount) for amount in DAMAGE]
    free = [success(original, model, None) for model in models]
    bounded = [
        success(original, model, BoundParams(measure="linf", limit=20.0)) for model in models
    ]
    assert min(free) > 0.9, "whatever the damage, a search without a bound succeeds"
    assert bounded == sorted(bounded)
    assert len(set(bounded)) == len(bounded)
    assert bounded[0] < 0.2 < 0.5 < bounded[-1]


@pytest.mark.parametrize("name", ["dflare", "diffchaser"])
@pytest.mark.parametrize(("measure", "limit"), [("linf", 4.0), ("l2", 10.0), ("pixels", 2.0)])
def test_every_query_of_every_search_lies_within(name, measure, limit, monkeypatch):
    subject = under_test(bound=BoundParams(measure=measure, limit=limit))
    items, asked = seeds(8), []
    searched = search(items, subject=subject, name=name)
    real = searched.propose

    def propose(trajectories):
        proposal = real(trajectories)
        asked.append((proposal.owners, proposal.items))
        return proposal

    monkeypatch.setattr(searched, "propose", propose)
    searched.run()
    assert asked
    for owners, mutants in asked:
        assert subject.domain.within(mutants, items[owners], measure, limit).all()


def test_a_seed_within_a_bound_is_the_same_in_any_batch():
    subject = under_test(bound=BoundParams(measure="pixels", limit=3.0))
    items = seeds(12)

    def rows(part):
        findings = search(items[part], part, budget=SeedBudget(80), subject=subject).run()
        return [(r.seed, r.outcome, r.queries) for r in findings.seeds]

    together = rows(list(range(12)))
    assert rows([3]) + rows([5, 8]) == [r for r in together if r[0] in (3, 5, 8)]
