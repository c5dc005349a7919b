"""The search for consequential deviations: what it looks for, what it records, and its twin."""

import numpy as np
import pytest
from dflare_twins import numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from subjects import CLASSES, OPERATORS, TOP_LABEL, models, seeds, under_test
from subjects import search as search_of

from asterism.core.messages.errors import UserError
from asterism.dflare.consequence import Consequence, ConsequenceParams
from asterism.dflare.lockstep import SeedBudget
from asterism.dflare.outcome import SearchResult
from asterism.dflare.trigger import _minimal, summarise
from asterism.images import build_mutators

#: What the small models can reach: their probabilities seldom are above 0.9.
SURE = {"original": 0.7, "compressed": 0.52}
OPTIONS = {"fitness": "consequence", "guided": False, "consequence": SURE}


def search(items, numbers_=None, labels=None, budget=None, **changed):
    subject = under_test(*models(coarseness=1.2), labels=labels)
    budget = budget or SeedBudget(250)
    return search_of(items, numbers_, budget=budget, subject=subject, **OPTIONS | changed)


def consequences_of(items):
    """Says whether a trigger from one of these seeds is a consequential one."""
    judge = Consequence.of(TOP_LABEL, ConsequenceParams(**SURE))
    right = models(coarseness=1.2)[0].predict(items).argmax(1)

    def holds(trigger):
        outputs = trigger.f[np.newaxis], trigger.g[np.newaxis]
        return judge.holds(*outputs, right[[trigger.seed]][:, np.newaxis])[0]

    return holds


def as_rows(findings):
    return [
        (t.seed, t.queries, t.operators, t.item.tobytes(), t.consequential)
        for t in findings.triggers
    ]


def log_odds(p, limit):
    return np.log(min(max(p, 1e-30), limit) / (1 - min(max(p, 1e-30), limit)))


def twin(image, number, label, budget):
    """The whole search from one seed in plain loops, without a choice by rates."""
    f_model, g_model = models(coarseness=1.2)
    mutators = list(build_mutators(OPERATORS).values())

    def ask(item):
        return f_model.predict(item[np.newaxis])[0], g_model.predict(item[np.newaxis])[0]

    def sure(f, g):
        return f[label], max(p for n, p in enumerate(g) if n != label)

    def near(f, g):
        parts = zip(sure(f, g), SURE.values(), strict=True)
        return np.float32(sum(np.float32(log_odds(float(p), limit)) for p, limit in parts))

    f, g = ask(image)
    if f.argmax() != g.argmax():
        return []
    best, best_near, observed, found = image, near(f, g), {(f.tobytes(), g.tobytes())}, []
    for query in range(1, budget + 1):
        mutator = mutators[int(numbers(0, "dflare", number, "choice", query).random(1)[0] * 3)]
        draws = mutator.draw(numbers(0, "dflare", number, "mutations", query), (1, *image.shape))
        mutant = mutator.apply(best[np.newaxis], draws)[0]
        share = 2.0 ** (-7 * numbers(0, "dflare", number, "steps", query).random(1)[0])
        mutant = np.rint(best + share * (mutant.astype(float) - best)).astype(np.uint8)
        f, g = ask(mutant)
        right, wrong = sure(f, g)
        consequential = bool(
            f.argmax() != g.argmax() and right >= SURE["original"] and wrong >= SURE["compressed"]
        )
        if f.argmax() != g.argmax() and (consequential or not found):
            found.append((query, mutant, consequential))
        if consequential:
            break
        gain, key = float(near(f, g) - best_near), (f.tobytes(), g.tobytes())
        if gain > 1e-3 or (gain >= -1e-3 and key not in observed):
            best, best_near = mutant, near(f, g)
        observed.add(key)
    return found


@pytest.mark.parametrize("given_labels", [False, True])
def test_every_seed_goes_as_in_the_plain_loop(given_labels):
    items = seeds(15)
    says = models(coarseness=1.2)[0].predict(items).argmax(1)
    labels = (says + (np.arange(15) % 3 == 0)) % CLASSES if given_labels else None
    findings = search(items, labels=labels).run()
    for number in range(15):
        expected = twin(items[number], number, (says if labels is None else labels)[number], 250)
        mine = [t for t in findings.triggers if t.seed == number]
        assert [(t.queries, t.consequential) for t in mine] == [(q, c) for q, _, c in expected]
        assert all(np.array_equal(t.item, i) for t, (_, i, _) in zip(mine, expected, strict=True))
    kinds = {t.consequential for t in findings.triggers}
    assert kinds == {True, False}


def test_a_deviation_without_consequence_does_not_end_a_search():
    findings, holds, went_on = search(seeds(15)).run(), consequences_of(seeds(15)), 0
    for record in findings.seeds:
        mine = [t for t in findings.triggers if t.seed == record.seed]
        assert len(mine) <= 2
        assert [t.consequential for t in mine[:-1]] == [False] * len(mine[:-1])
        if mine and not mine[-1].consequential:
            assert record.queries == 250
        went_on += len(mine) == 2
        assert [holds(trigger) for trigger in mine] == [t.consequential for t in mine]
    assert went_on > 0


@pytest.mark.slow
@settings(max_examples=8)
@given(st.permutations(range(12)), st.integers(1, 11))
def test_a_seed_is_the_same_alone_in_any_batch_and_in_any_shard(order, cut):
    items = seeds(12)
    together = as_rows(search(items, guided=True).run())
    parts = [list(order[:cut]), list(order[cut:])]
    rows = [row for part in parts for row in as_rows(search(items[part], part, guided=True).run())]
    assert sorted(rows) == together


def test_both_kinds_of_queries_are_saved_and_told(tmp_path):
    findings = search(seeds(15)).run()
    findings.save(tmp_path)
    assert as_rows(SearchResult.load(tmp_path)) == as_rows(findings)
    told = summarise(findings)
    first, consequential = {}, {}
    for trigger in findings.triggers:
        first.setdefault(trigger.seed, trigger.queries)
        if trigger.consequential:
            consequential.setdefault(trigger.seed, trigger.queries)
    assert told["mean_queries"] == pytest.approx(np.mean(list(first.values())))
    assert told["mean_queries_consequential"] == pytest.approx(
        np.mean(list(consequential.values()))
    )
    assert told["consequential"] == len(consequential) > 0
    plain = search(seeds(5), fitness="paper").run()
    assert "consequential" not in summarise(plain)


def test_minimal_inputs_are_as_consequential_as_those_that_were_found():
    task = search(seeds(15))
    findings = task.run()
    minimal = _minimal(task, findings.triggers, 60)
    holds, shrank = consequences_of(seeds(15)), 0
    for found, smaller in zip(findings.triggers, minimal, strict=True):
        assert smaller.seed == found.seed
        assert smaller.f.argmax() != smaller.g.argmax()
        if found.consequential:
            assert holds(smaller)
            shrank += not np.array_equal(found.item, smaller.item)
    assert shrank > 0


def test_the_aim_finds_consequence_for_more_seeds_than_the_papers_fitness_at_equal_queries():
    items = seeds(40, seed=4)
    aimed = search(items, guided=True).run()
    every = search(
        items, fitness="paper", guided=True, budget=SeedBudget(250, triggers=10**6)
    ).run()
    by_chance = {trigger.seed for trigger in filter(consequences_of(items), every.triggers)}
    assert len({t.seed for t in aimed.triggers if t.consequential}) > len(by_chance)


def test_sureness_must_be_given_in_range():
    with pytest.raises(ValueError, match="compressed"):
        ConsequenceParams(original=0.9, compressed=0.2)
    with pytest.raises(UserError, match="needs the option consequence"):
        search(seeds(2), consequence=None)
