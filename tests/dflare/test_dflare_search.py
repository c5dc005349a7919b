"""Dflare in lockstep is the paper's Dflare, seed by seed."""

import numpy as np
import pytest
from dflare_twins import dflare as twin
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import domain_of
from subjects import OPERATORS, OPTIONS, Linear, models, search, seeds, under_test

from asterism.dflare import outcome
from asterism.dflare.comparisons import build_comparison
from asterism.dflare.domains import Domain
from asterism.dflare.domains.images import ImageDomain
from asterism.dflare.lockstep import PairUnderTest, SeedBudget
from asterism.dflare.outcome import SearchResult
from asterism.dflare.pair import ModelPair
from asterism.dflare.params import ComparisonParams, SearchParams
from asterism.dflare.searches import SEARCHES
from asterism.dflare.trigger import draw_seeds, save_search_results, search_pair
from asterism.models.isolated_model import ModelCrashError


def as_rows(findings):
    return (
        [(r.seed, r.outcome, r.queries, r.reason) for r in findings.seeds],
        [
            (t.seed, t.queries, t.operators, t.item.tobytes(), t.f.tobytes(), t.g.tobytes())
            for t in findings.triggers
        ],
    )


@pytest.mark.parametrize("rule", ["paper", "released", "distance_only"])
@pytest.mark.parametrize(("guided", "run_seed"), [(True, 0), (False, 1)])
def test_every_seed_goes_as_in_the_plain_loop(rule, guided, run_seed):
    items = seeds(15, seed=run_seed)
    findings = search(items, run_seed=run_seed, fitness=rule, guided=guided).run()
    found = {t.seed: t for t in findings.triggers}
    assert {r.outcome for r in findings.seeds} >= {outcome.TRIGGERED}
    f, g = models()
    for record in findings.seeds:
        how, queries, operators, item = twin(
            f, g, items[record.seed], record.seed, run_seed, "dflare",
            operators=OPERATORS, rule=rule, delta=1e-3, guided=guided, budget=60,
        )  # fmt: skip
        assert (record.outcome, record.queries) == (how, queries)
        if item is not None:
            trigger = found[record.seed]
            assert trigger.operators == operators
            assert np.array_equal(trigger.item, item)
            assert np.array_equal(f.predict(item[np.newaxis])[0], trigger.f)
            assert np.array_equal(g.predict(item[np.newaxis])[0], trigger.g)


@settings(max_examples=15)
@given(st.permutations(range(12)), st.integers(1, 11))
def test_a_seed_is_the_same_alone_in_any_batch_and_in_any_shard(order, cut):
    items = seeds(12)
    together = as_rows(search(items).run())
    parts = [list(order[:cut]), list(order[cut:])]
    rows = [as_rows(search(items[part], part).run()) for part in parts]
    merged = tuple(sorted(a + b, key=lambda r: r[:2]) for a, b in zip(*rows, strict=True))
    assert merged == tuple(sorted(part, key=lambda r: r[:2]) for part in together)


@pytest.mark.parametrize("full_batch", [1, 7, 1000])
def test_looking_ahead_changes_no_result(monkeypatch, full_batch):
    expected = as_rows(search(seeds(12), budget=SeedBudget(300, triggers=2)).run())
    monkeypatch.setattr(ModelPair, "full_batch", full_batch)
    assert as_rows(search(seeds(12), budget=SeedBudget(300, triggers=2)).run()) == expected


@pytest.mark.parametrize(
    ("rule", "triggers"), [("paper", 1), ("released", 3), ("distance_only", 3)]
)
def test_skipping_what_was_tried_in_vain_changes_no_result(monkeypatch, rule, triggers):
    operators = OPERATORS | {"translation": {"low": -1, "high": 1}, "brightness": {}}
    asked, rows = [], []
    for told in (True, False):
        if not told:
            monkeypatch.setattr(ImageDomain, "variants", Domain.variants)
        task = search(
            seeds(12),
            budget=SeedBudget(150, triggers=triggers),
            subject=under_test(operators=operators),
            fitness=rule,
        )
        made = []
        mutants = task.mutants
        task.mutants = lambda owners, *rest, make=mutants, made=made: (
            made.append(len(owners)) or make(owners, *rest)
        )
        rows.append(as_rows(task.run()))
        asked.append(sum(made))
    assert rows[0] == rows[1]
    assert asked[0] < asked[1]


def test_few_seeds_share_few_calls_of_the_models(monkeypatch):
    f, _ = models()
    # The same model twice: no distance grows, no search ends before its budget does.
    task = search(
        seeds(3), subject=under_test(f, f), budget=SeedBudget(300), fitness="distance_only"
    )
    task.run()
    assert task.queries.tolist() == [300, 300, 300]
    assert len(f.batches) / 2 < 50
    f, g = models()
    search(seeds(12), subject=under_test(f, g), budget=SeedBudget(300)).run()
    assert f.batches == g.batches
    monkeypatch.setattr(ModelPair, "full_batch", 1)
    alone, _ = models()
    noise = {"gaussian_noise": OPERATORS["gaussian_noise"]}  # never gives the same mutant twice
    findings = search(seeds(12), subject=under_test(alone, g, noise), budget=SeedBudget(300)).run()
    searched = [r for r in findings.seeds if r.outcome != outcome.DEVIATES_ALREADY]
    assert sum(alone.batches) == 12 + sum(r.queries for r in searched)
    assert alone.batches[0] == 12
    assert alone.batches[1] + alone.batches[2] == len(searched)


def test_several_triggers_for_a_seed_are_different():
    findings = search(seeds(12), budget=SeedBudget(400, triggers=3)).run()
    complete = [r for r in findings.seeds if r.outcome == outcome.TRIGGERED]
    assert complete
    for record in complete:
        mine = [t for t in findings.triggers if t.seed == record.seed]
        assert 1 <= len(mine) <= 3
        assert len({t.item.tobytes() for t in mine}) == len(mine)
        assert [t.queries for t in mine] == sorted({t.queries for t in mine})
    assert any(sum(t.seed == r.seed for t in findings.triggers) == 3 for r in complete)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (SeedBudget(20), outcome.EXHAUSTED),
        (SeedBudget(10**6, seconds=1e-9), outcome.OUT_OF_TIME),
    ],
)
def test_models_that_agree_everywhere_use_up_queries_or_time(budget, expected):
    f, _ = models()
    findings = search(seeds(5), subject=under_test(f, f), budget=budget).run()
    assert [r.outcome for r in findings.seeds] == [expected] * 5
    assert not findings.triggers


class Fragile(Linear):
    """Fails on bright images: crashes, or gives NaN."""

    def __init__(self, weights, how):
        super().__init__(weights, "fragile")
        self._how = how

    def predict(self, images):
        bright = images.mean(axis=(1, 2, 3)) > 135
        if bright.any() and self._how == "crash":
            raise ModelCrashError("fragile crashed its interpreter: SIGSEGV")
        outputs = super().predict(images)
        outputs[bright] = np.nan
        return outputs


@pytest.mark.parametrize("how", ["crash", "nan"])
def test_a_model_that_fails_on_some_inputs_loses_no_other_seed(how):
    f, g = models()
    items = seeds(30)
    with np.errstate(all="raise"):
        whole = search(items, subject=under_test(f, g)).run()
        broken = search(items, subject=under_test(f, Fragile(g.weights, how))).run()
    if how == "crash":
        failed = {r.seed for r in broken.seeds if r.outcome == outcome.FAILED}
        assert all("SIGSEGV" in r.reason for r in broken.seeds if r.seed in failed)
    else:  # an answer that is not finite is found as one that deviates
        failed = {t.seed for t in broken.triggers if not np.isfinite(t.g).all()}
        failed |= {r.seed for r in broken.seeds if r.outcome == outcome.DEVIATES_ALREADY}
    assert 0 < len(failed) < 30
    kept = [r for r in as_rows(broken)[0] if r[0] not in failed]
    assert kept == [r for r in as_rows(whole)[0] if r[0] not in failed]


@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_every_search_is_deterministic_and_independent_of_the_batch(name):
    def run(part):
        return as_rows(search(seeds(10)[part], part, 3, SeedBudget(80), name=name).run())

    everything = run(list(range(10)))
    assert everything == run(list(range(10)))
    assert everything[1]
    for part in ([4], [1, 7, 8]):
        seeds_alone, triggers_alone = run(part)
        assert seeds_alone == [r for r in everything[0] if r[0] in part]
        assert triggers_alone == [r for r in everything[1] if r[0] in part]


def test_a_generation_of_diffchaser_counts_whole():
    def run(queries):
        budget = SeedBudget(queries)
        return search(seeds(10), run_seed=3, budget=budget, name="diffchaser").run()

    findings = run(85)
    searched = [r for r in findings.seeds if r.outcome != outcome.DEVIATES_ALREADY]
    # Eight members at first; then the fittest stays, and seven are new. The last generation of an
    # exhausted budget is what the budget leaves of it: 85 = 8 + 11 * 7.
    assert all((r.queries - 8) % 7 == 0 for r in searched)
    assert {t.queries for t in findings.triggers} <= {r.queries for r in searched}
    assert any(r.outcome == outcome.TRIGGERED for r in searched)
    assert {r.queries for r in run(10).seeds if r.outcome == outcome.EXHAUSTED} == {10}


def test_no_seeds_is_an_empty_result():
    findings = search(seeds(12)[:0]).run()
    assert not findings.seeds
    assert not findings.triggers


def test_the_pair_asks_both_models_for_everything():
    f, g = models()
    answers = ModelPair(f, g).ask(seeds(4))
    assert np.array_equal(answers.f, f.predict(seeds(4)))
    assert np.array_equal(answers.g, g.predict(seeds(4)))


TOLERANCE = 0.05


class Curve:
    """A quadratic form of the vector, its weights rounded to a step."""

    def __init__(self, step):
        weights = np.random.default_rng(0).normal(0, 1, (4, 4))
        self._weights = np.rint(weights / step) * step if step else weights
        self.name = "curve"
        self.classes = 1

    def predict(self, items):
        values = [item @ self._weights @ item for item in items]
        return np.array(values, np.float32).reshape(len(items), 1)


@pytest.mark.parametrize("name", ["dflare", "diffchaser"])
def test_vectors_and_numbers_are_searched_like_images_and_labels(name, tmp_path):
    searches = {name: SearchParams(search=name, options=OPTIONS[name])}
    f, g = Curve(0), Curve(0.1)
    items = np.random.default_rng(1).normal(0, 0.4, (20, 4)).astype(np.float32)
    close = ComparisonParams(kind="tolerance", options={"absolute": TOLERANCE, "relative": 0.0})
    domain = domain_of("tensors", items)
    subject = PairUnderTest(ModelPair(f, g), domain, build_comparison(close, (1,)))
    seeds = draw_seeds(items, 12, 0)
    found = search_pair(searches, subject, seeds, SeedBudget(300), 0, minimise_queries=20)
    summary = save_search_results(found, seeds, domain, tmp_path)[name]
    assert summary["triggered"] > 8
    assert summary["mean_minimal_l2"] <= summary["mean_l2"]
    for trigger in SearchResult.load(tmp_path / name).triggers:
        item = trigger.item[np.newaxis]
        assert abs(f.predict(item) - g.predict(item))[0, 0] > TOLERANCE
        assert set(trigger.operators) <= {*domain.operators, "crossover", "mutation"}
