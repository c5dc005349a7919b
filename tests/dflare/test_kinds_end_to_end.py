"""Every search on every kind of inputs, with small real pairs of models."""

import numpy as np
import pytest
from kinds import BOUNDS, KINDS, domain_of
from small_pairs import DATA, pair_of

from asterism.core.parameters.construction import NoOptions
from asterism.core.parameters.params import validate
from asterism.dflare.comparisons.labels import TopLabelComparison
from asterism.dflare.lockstep import PairUnderTest
from asterism.dflare.outcome import SearchResult
from asterism.dflare.pair import ModelPair
from asterism.dflare.params import BoundParams, TriggerParams
from asterism.dflare.trigger import (
    SearchSeeds,
    build_seed_budget,
    draw_seeds,
    save_search_results,
    search_pair,
)
from set_options import section

pytestmark = pytest.mark.slow


def params_of(**changed):
    """The project's own searches with a small budget."""
    small = {"seeds": 30, "queries": 150, "minimise_queries": 20}
    values = section("trigger") | small | changed
    values["searches"]["diffchaser"]["options"] |= {"population": 10}
    return validate(TriggerParams, values, names=True)


def under_test(kind, items, bound=None):
    models, domain = ModelPair(*pair_of(kind)), domain_of(kind, items)
    return PairUnderTest(models, domain, TopLabelComparison(NoOptions(), ()), bound)


def searched(params, subject, seeds):
    budget, minimise = build_seed_budget(params), params.minimise_queries
    return search_pair(params.searches, subject, seeds, budget, 0, minimise_queries=minimise)


@pytest.mark.parametrize("kind", KINDS)
def test_all_searches_find_and_minimise_and_are_the_same_in_any_shard(kind, tmp_path):
    items, _ = DATA[kind](80)
    params = params_of()
    subject = under_test(kind, items)
    seeds = draw_seeds(items, params.seeds, 0)
    found = searched(params, subject, seeds)
    summaries = save_search_results(found, seeds, subject.domain, tmp_path)
    assert set(found) == {"dflare", "dflare_d", "dflare_r", "diffchaser"}
    f, g = pair_of(kind)
    for name, findings in found.items():
        loaded = SearchResult.load(tmp_path / name)
        assert summaries[name]["triggered"] > 0, name
        for trigger in [*loaded.triggers, *loaded.minimal]:
            item = trigger.item[np.newaxis]
            assert f.predict(item).argmax() != g.predict(item).argmax()
            assert np.array_equal(f.predict(item)[0], trigger.f)
        measure = next(m for m in subject.domain.measures if m != "snr_db")
        minimal, whole = (summaries[name][f"mean_{p}{measure}"] for p in ("minimal_", ""))
        assert minimal <= whole + 1e-9
        assert len(findings.minimal) == len(findings.triggers)
    apart: dict[str, list] = {name: [] for name in found}
    for rows in (np.arange(0, 30, 2), np.arange(1, 30, 2)):
        shard = SearchSeeds(seeds.items[rows], seeds.numbers[rows])
        for name, findings in searched(params, subject, shard).items():
            apart[name] += [(t.seed, t.queries, t.item.tobytes()) for t in findings.triggers]
    for name, findings in found.items():
        together = [(t.seed, t.queries, t.item.tobytes()) for t in findings.triggers]
        assert sorted(apart[name]) == together


@pytest.mark.parametrize(
    ("kind", "measure", "limit"), [(kind, *bound) for kind in KINDS for bound in BOUNDS[kind]]
)
def test_with_a_bound_every_search_stays_within_it(kind, measure, limit):
    items, _ = DATA[kind](60)
    params = params_of(seeds=15, queries=60, minimise_queries=5)
    subject = under_test(kind, items, BoundParams(measure=measure, limit=limit))
    seeds = draw_seeds(items, params.seeds, 0)
    for findings in searched(params, subject, seeds).values():
        for trigger in [*findings.triggers, *findings.minimal]:
            reference = seeds.of([trigger.seed])
            item = trigger.item[np.newaxis]
            assert subject.domain.within(item, reference, measure, limit).all()
