"""How often ordinary inputs flip under natural changes, by rules whose answers are known."""

import numpy as np
import pytest
from small_vetting import Rule, vet_params, vetted_rules

from asterism.core.files.records import record_as_json
from asterism.core.messages.errors import UserError
from asterism.core.statistics import compute_share
from asterism.tensors import TENSOR_MUTATORS
from asterism.vetting import measurement
from asterism.vetting.measurement import measure_flips, require_changes

STILL, HALF = {"noise": {"low": 0.0, "high": 0.0}}, {"scale": {"low": 0.5, "high": 0.5}}
#: By so much the second model prefers its second label.
BIAS = 1.0
SHIFT = np.array([0, BIAS])
ITEMS = np.random.default_rng(0).uniform(-4, 4, (60, 2)).astype(np.float32)


TOP_LABEL = {"kind": "top_label", "options": {}}
RELATIVE = {"kind": "tolerance", "options": {"absolute": 1e-6, "relative": 0.1}}


def params_of(strengths, bounds=(), inputs=1000, confidence=0.9, comparison=TOP_LABEL):
    return vet_params(
        comparison=comparison,
        confidence=confidence,
        changes={
            "inputs": inputs,
            "strengths": strengths,
            "bounds": [{"measure": "linf", "limit": limit} for limit in bounds],
            "slight": next(iter(strengths)),
        },
    )


def rules():
    return Rule("f", lambda x: x), Rule("g", lambda x: x + SHIFT)


def differ(items):
    """Whether the rules' labels differ, and how by hand."""
    gap = items[:, 0].astype(np.float64) - items[:, 1]
    return (gap >= 0) & (gap < BIAS)


def vetted_of(params, items=ITEMS, models=None):
    return vetted_rules(params, items, *(models or rules()))


def agreed_of(items):
    return np.flatnonzero(~differ(items))


def test_flips_are_counted_by_strength_change_and_bound():
    strengths = {"none": STILL, "half": HALF | STILL}
    vetted = vetted_of(params_of(strengths, bounds=[0.07, 0.1]))
    agreed = agreed_of(ITEMS)
    found = measure_flips(vetted, agreed, 0)
    assert [(flips.strength, flips.bound) for flips in found] == [
        ("none", ""),
        ("half", ""),
        ("half", "linf 0.07"),
        ("half", "linf 0.1"),
    ], "bounds are for the last strength, the strongest"
    width = ITEMS.max(axis=0) - ITEMS.min(axis=0)
    kept, counts = ITEMS[agreed], [0]
    for reach in (np.inf, 0.07 * width, 0.1 * width):
        counts.append(int(differ(np.clip(kept / 2, kept - reach, kept + reach)).sum()))
    assert 0 < counts[2] < counts[3] < counts[1]
    for flips, count in zip(found, counts, strict=True):
        share = compute_share(count, len(agreed), 0.9)
        assert flips.share == share
        nothing = {"noise": compute_share(0, len(agreed), 0.9)}
        assert flips.by_change == (
            nothing if flips.strength == "none" else {"scale": share} | nothing
        )
    assert record_as_json(found[3]) == {
        "strength": "half",
        "bound": "linf 0.1",
        "share": record_as_json(found[3].share),
        "failed": 0,
        "by_change": {name: record_as_json(share) for name, share in found[3].by_change.items()},
    }


def test_a_lost_answer_flips_and_one_that_the_original_lacks_fails():
    items = np.array([[3, 1.5], [4, 2.5], [-3, 3], [2.5, 1], [0, 9], [0, -9]], np.float32)

    def silent(x, row):
        return np.where((x == row).all(axis=1)[:, np.newaxis], np.nan, x)

    # The original says nothing about the half of input 4, the other model about input 3.
    models = (
        Rule("f", lambda x: silent(x, [0, 4.5])),
        Rule("g", lambda x: silent(x, [2.5, 1]) + SHIFT),
    )
    vetted = vetted_of(params_of({"half": HALF | STILL}), items, models)
    (found,) = measure_flips(vetted, np.arange(6), 0)
    assert found.by_change["scale"] == compute_share(3, 6, 0.9)
    assert found.by_change["noise"] == compute_share(1, 6, 0.9)
    assert found.share == compute_share(3, 6, 0.9) and found.failed == 1


def test_rows_are_drawn_among_the_agreed_ones():
    agreed = agreed_of(ITEMS)

    def rows(seed):
        models = rules()
        vetted = vetted_of(params_of({"none": STILL}, inputs=9), models=models)
        (found,) = measure_flips(vetted, agreed, seed)
        asked = models[0].asked[-1]
        assert found.share.total == len(asked) == 9
        return [int(np.flatnonzero((item == ITEMS).all(axis=1))[0]) for item in asked]

    chosen = rows(0)
    assert chosen == sorted(set(chosen)) and set(chosen) <= set(agreed.tolist())
    assert rows(0) == chosen != rows(1)


@pytest.mark.parametrize(("inputs", "agreed"), [(0, [1, 2]), (5, [])])
def test_without_inputs_nothing_is_measured(inputs, agreed):
    models = rules()
    vetted = vetted_of(params_of({"none": STILL}, inputs=inputs), models=models)
    asked = len(models[0].asked)
    assert measure_flips(vetted, np.array(agreed, np.int64), 0) == []
    assert len(models[0].asked) == asked


NOISE = {"noise": {"low": 0.05, "high": 0.1}, "zero_feature": {}}


def changed(rows, seed=0, strength="some", operators=NOISE, bounds=()):
    """What the models are asked about, by change, when these rows are changed."""
    items = np.concatenate([ITEMS, ITEMS])  # each is there twice
    models = rules()
    vetted = vetted_of(params_of({strength: operators}, bounds), items, models)
    asked = len(models[0].asked)
    measure_flips(vetted, np.array(rows), seed)
    return models[0].asked[asked:]


def test_what_is_done_to_an_input_depends_on_no_other():
    rows = [0, 3, 4, 60]
    together = changed(rows, bounds=[0.01])
    assert len(together) == 4  # two changes, without and within the bound
    for place, row in enumerate(rows):
        for whole, alone in zip(together, changed([row], bounds=[0.01]), strict=True):
            assert whole[place].tobytes() == alone[0].tobytes()
    noisy = together[0]
    assert not np.allclose(noisy[0], noisy[3]), "the same input in another row has its own noise"
    assert not np.allclose(noisy, ITEMS[[0, 3, 4, 0]])
    assert np.abs(together[2] - ITEMS[[0, 3, 4, 0]]).max() <= 0.08 * 1.001


def test_seed_and_strength_give_other_changes():
    usual = changed([0, 3])[0]
    assert not np.allclose(usual, changed([0, 3], seed=1)[0])
    assert not np.allclose(usual, changed([0, 3], strength="other")[0])


@pytest.mark.parametrize(("factor", "count"), [(1.105, 9), (1 / 1.105, 0)])
def test_flips_are_what_the_comparison_says(factor, count):
    # A tenth of the original's value is allowed.
    models = Rule("f", lambda x: x), Rule("g", lambda x: x * factor)
    vetted = vetted_of(params_of({"none": STILL}, comparison=RELATIVE), models=models)
    (found,) = measure_flips(vetted, np.arange(9), 0)
    assert found.share == compute_share(count, 9, 0.9)


def test_parts_of_any_size_give_the_same_and_no_more_is_held(monkeypatch):
    def measured():
        models = rules()
        vetted = vetted_of(params_of({"some": NOISE}, bounds=[0.1]), models=models)
        asked = len(models[0].asked)
        found = measure_flips(vetted, agreed_of(ITEMS), 0)
        return found, models[0].asked[asked:]

    whole, asked = measured()
    assert {len(items) for items in asked} == {len(agreed_of(ITEMS))}
    monkeypatch.setattr(measurement, "_AT_ONCE", 7 * (ITEMS[0].nbytes + 2 * 8))
    parts, asked = measured()
    assert parts == whole and max(len(items) for items in asked) == 7


def test_a_change_that_fails_is_told_before_anything_is_measured(monkeypatch):
    params = params_of({"half": HALF | STILL})
    require_changes(params, ITEMS)

    def broken(*_):
        raise RuntimeError("too wide")

    monkeypatch.setattr(TENSOR_MUTATORS["scale"], "apply", broken)
    with pytest.raises(UserError, match=r"change scale fails .*too wide"):
        require_changes(params, ITEMS)
