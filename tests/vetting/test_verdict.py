"""Agreement and verdict: counted as a person would, and decided by the ends of intervals."""

import time
from collections import Counter
from dataclasses import replace
from math import log

import numpy as np
import pytest

from asterism.core.files.records import record_as_json, record_from
from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import NoOptions
from asterism.core.statistics import Share, compute_share
from asterism.dflare.comparisons import build_comparison
from asterism.dflare.comparisons.labels import TopLabelComparison
from asterism.dflare.params import ComparisonParams
from asterism.vetting.agreement import Agreement, measure_agreement
from asterism.vetting.symptoms import Symptom, find_symptoms
from asterism.vetting.verdict import ThresholdCheck, Thresholds, check_thresholds, decide_verdict

TOP_LABEL = TopLabelComparison(NoOptions(), ())
ALLOWED = Thresholds(agreement=0.95, accuracy_lost=0.02, worst_class=0.9, natural_flips=0.1)


def agreement_of(pairs, labels=None, classes=3):
    """Agreement of models that answer these labels."""
    answers = np.array(pairs, np.int64).reshape(-1, 2)
    f, g = np.eye(classes, dtype=np.float32)[answers.T]
    given = None if labels is None else np.array(labels)
    return measure_agreement(f, g, TOP_LABEL, given, 0.95)


def test_deviations_are_counted_by_direction_and_class():
    found = agreement_of([(0, 0), (0, 1), (1, 0), (2, 1), (1, 2)], [0, 0, 0, 0, 2])
    assert found.differ.count == 4 and found.differ.total == 5
    assert found.directions == {"right to wrong": 1, "wrong to right": 2, "wrong to other wrong": 1}
    assert [share.count for share in found.accuracy] == [2, 3]
    assert {label: s.count for label, s in found.classes.items()} == {0: 3, 2: 1}
    assert found.worst_class[0] == 2
    assert record_from(Agreement, record_as_json(found)) == found


def by_hand(f, g, labels):
    """Counts and quantiles, one input after the other."""
    directions, classes, found, margin_lost, apart = Counter(), {}, Counter(), [], []
    right, divergences = [0, 0], []
    for row, (a, b) in enumerate(zip(f.tolist(), g.tolist(), strict=True)):
        if not np.isfinite(a).all():
            found["failed"] += 1
            continue
        none = not np.isfinite(b).all()
        ours, theirs = a.index(max(a)), -1 if none else b.index(max(b))
        found["lost"] += none
        found["differing"] += ours != theirs
        label = ours if labels is None else int(labels[row])
        counts = classes.setdefault(label, [0, 0])
        counts[0] += ours != theirs
        counts[1] += 1
        right[0] += ours == label
        right[1] += theirs == label
        if ours != theirs:
            words = ("right" if ours == label else "wrong", "right" if theirs == label else "wrong")
            directions[" to ".join(words).replace("wrong to wrong", "wrong to other wrong")] += 1
        if not none:
            apart.append(abs(max(a) - max(b)))
            divergences.append(sum(p * log(p / q) for p, q in zip(a, b, strict=True)))
            margin_lost.append(a[ours] - max(a[:ours] + a[ours + 1 :]))
            margin_lost[-1] -= b[ours] - max(b[:ours] + b[ours + 1 :])
    return found, directions, classes, right, divergences, margin_lost, apart


@pytest.mark.parametrize("labelled", [False, True])
def test_agreement_is_what_is_counted_one_by_one(labelled):
    rng = np.random.default_rng(1)
    f, g = (rng.dirichlet(np.ones(3), 60).astype(np.float32) for _ in range(2))
    f[7], g[9, 0], g[11] = np.nan, np.inf, np.nan
    labels = rng.integers(0, 3, 60) if labelled else None
    found = measure_agreement(f, g, TOP_LABEL, labels, 0.9)
    counts, directions, classes, right, divergences, margin_lost, apart = by_hand(f, g, labels)
    assert (found.failed, found.lost) == (counts["failed"], counts["lost"]) == (1, 2)
    assert found.differ == compute_share(counts["differing"], 60, 0.9), "all inputs count"
    for label, (differing, _) in classes.items():
        assert found.classes[label].count == differing
    assert sum(share.total for share in found.classes.values()) == 60
    if labelled:
        assert Counter(found.directions) == directions and len(found.directions) == 3
        assert found.accuracy == tuple(compute_share(count, 60, 0.9) for count in right)
    else:
        assert found.directions == {} and found.accuracy == ()
    for quantile, values in (
        (found.divergence, divergences),
        (found.margin_lost, margin_lost),
        (found.distance, apart),
    ):
        assert quantile["median"] == pytest.approx(np.median(values), abs=1e-5)
        assert quantile["largest"] == pytest.approx(max(values), abs=1e-5)
    assert record_from(Agreement, record_as_json(found)) == found


def test_what_agreement_takes_does_not_grow_with_the_square_of_the_labels():
    count = 150_000
    rows = np.full((count, 2), 0.5, np.float32)
    began = time.monotonic()
    found = measure_agreement(rows, rows, TOP_LABEL, np.arange(count), 0.9)
    assert len(found.classes) == count and time.monotonic() - began < 30


def test_outputs_that_are_no_scores_have_no_classes():
    rows = np.array([[3, -1], [2, 2]], np.float32)
    chosen = ComparisonParams(kind="tolerance", options={"absolute": 5.0, "relative": 0.0})
    comparison = build_comparison(chosen, (2,))
    found = measure_agreement(rows, -rows, comparison, np.array([0, 1]), 0.95)
    assert (found.differ.count, found.differ.total) == (1, 2)
    assert (found.accuracy, found.directions, found.classes) == ((), {}, {})
    assert (found.divergence, found.margin_lost) == ({}, {})
    assert found.distance["largest"] == pytest.approx(1.2)
    assert found.worst_class is None


def test_an_agreement_is_read_only_where_it_is_one():
    value = record_as_json(agreement_of([(0, 0)], [0]))
    with pytest.raises(UserError, match="failed"):
        record_from(Agreement, value | {"failed": "none"})
    with pytest.raises(UserError, match="met"):
        record_from(
            ThresholdCheck, {"name": "a", "measured": value["differ"]} | dict.fromkeys(["met"], 1)
        )


def test_of_classes_that_deviate_equally_often_the_larger_is_the_worst():
    # Class 1 has twice the inputs of class 0; class 2 more of them, which deviate less often.
    pairs = [(0, 1), (0, 0)] + [(1, 0), (1, 1)] * 2 + [(2, 0), *[(2, 2)] * 8]
    label, share = agreement_of(pairs).worst_class
    assert (label, share.count, share.total) == (1, 2, 4)


def criterion(low, high, at_least, threshold=0.5):
    """The criterion of a share with these ends: an agreement, or a share of flips."""
    differ = Share(0, 100, 0.0, 1 - high, 1 - low) if at_least else compute_share(0, 100, 0.95)
    agreement = replace(agreement_of([(0, 0)]), differ=differ, classes={})
    flips = None if at_least else Share(0, 100, (low + high) / 2, low, high)
    asked = ALLOWED.model_copy(update={"agreement": threshold, "natural_flips": threshold})
    return check_thresholds(agreement, (), flips, asked, 0.95)[0 if at_least else 1]


@pytest.mark.parametrize(
    ("low", "high", "at_least", "met"),
    [
        (0.5, 0.75, True, True),
        (0.25, 0.5, True, None),
        (0.25, 0.4375, True, False),
        (0.25, 0.5, False, True),
        (0.5, 0.75, False, None),
        (0.5625, 0.75, False, False),
    ],
)
def test_an_end_on_the_threshold_keeps_it(low, high, at_least, met):
    found = criterion(low, high, at_least)
    assert (found.met, found.at_least, found.threshold) == (met, at_least, 0.5)


def test_what_is_compared_with_which_threshold():
    pairs = [(0, 0)] * 50 + [(1, 1)] * 20 + [(1, 0)] * 10 + [(2, 0)] * 29
    found = check_thresholds(
        agreement_of(pairs, [pair[0] for pair in pairs]),
        (),
        compute_share(2, 90, 0.95),
        ALLOWED,
        0.95,
    )
    assert [(c.name, c.threshold, c.at_least, c.measured.count) for c in found] == [
        ("agreement on the given inputs", 0.95, True, 70),
        ("accuracy lost", 0.02, False, 39),
        ("agreement in class 1", 0.9, True, 20),
        ("inputs that flip under slight natural changes", 0.1, False, 2),
    ], "class 2 has less than 30 inputs"
    found = check_thresholds(agreement_of([(0, 0)] * 35), (), None, ALLOWED, 0.95)
    assert [c.name for c in found] == ["agreement on the given inputs"], "35 decide nothing"
    found = check_thresholds(agreement_of([(0, 0)] * 36), (), None, ALLOWED, 0.95)
    assert found[1].name == "agreement in class 0" and found[1].measured.share == 1


def test_lost_accuracy_is_what_got_wrong_less_what_got_right():
    pairs = [(0, 1)] * 9 + [(1, 0)] * 4 + [(0, 0)] * 87
    found = check_thresholds(agreement_of(pairs, [0] * 100), (), None, ALLOWED, 0.9)[1].measured
    worse, better = (
        compute_share(count, 100, 0.95) for count in (9, 4)
    )  # each with half the doubt
    assert (found.count, found.total) == (5, 100)
    assert (found.share, found.low, found.high) == pytest.approx(
        (0.05, worse.low - better.high, worse.high - better.low)
    )


def test_of_no_inputs_no_accuracy_is_lost_and_nothing_is_known():
    agreement = agreement_of([], np.zeros(0, np.int64))
    found = check_thresholds(agreement, (), None, ALLOWED, 0.95)
    assert [(c.measured.share, c.met) for c in found] == [(1.0, None), (0.0, None)]
    assert decide_verdict(found, None).word == "not enough inputs to say"


def test_reasons_say_the_share_its_interval_and_what_was_asked():
    kept = ThresholdCheck("kept", Share(9, 10, 0.9, 0.75, 0.96875), 0.5, True, True)
    broken = ThresholdCheck("broken", Share(9, 10, 0.9, 0.75, 0.96875), 0.5, False, False)
    unsure = ThresholdCheck("unsure", Share(9, 10, 0.9, 0.75, 0.96875), 0.8, True, None)
    numbers = "90.00% (75.00% to 96.88%)"
    says_kept = f"kept: {numbers}, at least 50.00% was asked"
    says_broken = f"broken: {numbers}, but at most 50.00% was asked"
    says_unsure = f"unsure: {numbers}, at least 80.00% was asked; more inputs are needed"
    all_of_them = (unsure, kept, broken)
    assert decide_verdict((kept, kept), None).reasons == (says_kept, says_kept)
    assert decide_verdict((kept, kept), (kept,)).word == "ship", "nothing has to be repaired"
    found = decide_verdict(all_of_them, None)
    assert found.word == "do not ship" and found.reasons == (says_broken, says_unsure)
    assert decide_verdict((kept, unsure), None).reasons == (says_unsure,)
    repaired = decide_verdict(all_of_them, (kept,))
    assert repaired.word == "ship with the repair"
    assert repaired.reasons == (says_broken, f"repaired: {says_kept}")
    assert decide_verdict((kept, unsure), (kept,)).reasons == (
        says_unsure,
        f"repaired: {says_kept}",
    )
    lacking = decide_verdict((broken,), (kept, unsure))
    assert lacking.word == "do not ship"
    assert lacking.reasons == (says_broken, f"repaired: {says_unsure}")
    assert decide_verdict((unsure,), (broken,)).word == "not enough inputs to say"
    assert record_as_json(found) == {
        "word": "do not ship",
        "reasons": [says_broken, says_unsure],
        "criteria": [record_as_json(c) for c in all_of_them],
    }
    assert record_from(ThresholdCheck, record_as_json(found)["criteria"][0]) == unsure


@pytest.mark.parametrize(
    ("differing", "total", "word"),
    [
        (0, 1000, "ship"),
        (10, 1000, "ship"),
        (200, 1000, "do not ship"),
        (0, 20, "not enough inputs to say"),
        (1, 20, "not enough inputs to say"),
        (20, 20, "do not ship"),
    ],
)
def test_the_verdict_follows_the_ends_of_the_intervals(differing, total, word):
    pairs = [(0, 1)] * differing + [(0, 0)] * (total - differing)
    criteria = check_thresholds(agreement_of(pairs, [0] * total), (), None, ALLOWED, 0.95)
    verdict = decide_verdict(criteria, None)
    assert verdict.word == word
    assert verdict.reasons and all("%" in reason for reason in verdict.reasons)


def test_an_output_that_became_constant_is_named_first_and_never_shipped():
    f = np.random.default_rng(0).uniform(0, 1, (1000, 6)).astype(np.float32)
    g = f.copy()
    g[:, 4:] = 0  # beside numbers that are kept
    symptoms = find_symptoms(f, g, {"boxes": (2, 2), "scores": (2,)})
    assert [(s.kind, s.output) for s in symptoms] == [("constant", "scores")]
    agreement = agreement_of([(0, 0)] * 1000)
    told = [symptom.told for symptom in symptoms]
    found = decide_verdict(check_thresholds(agreement, symptoms, None, ALLOWED, 0.95), None, told)
    assert found.word == "do not ship" and found.reasons[0] == told[0]


RAMP = np.linspace(0, 1, 40, dtype=np.float32)[:, np.newaxis]


@pytest.mark.parametrize(
    ("g", "kinds"),
    [
        (RAMP, []),
        (np.full_like(RAMP, 0.5), ["constant"]),
        (np.where(RAMP < 0.1, np.nan, RAMP), ["no answer"]),
        (np.full_like(RAMP, np.nan), ["no answer"]),
        (np.minimum(RAMP, 0.6), ["saturated"]),
        (np.minimum(RAMP, 0.999), []),
        (np.maximum(RAMP, 0.3), ["saturated"]),
    ],
)
def test_symptoms_of_an_output(g, kinds):
    found = find_symptoms(RAMP, g.astype(np.float32), {"y": (1,)})
    assert [symptom.kind for symptom in found] == kinds
    assert [record_from(Symptom, record_as_json(symptom)) for symptom in found] == found


def test_what_the_original_does_not_do_either_is_no_symptom():
    same = np.zeros_like(RAMP)
    assert find_symptoms(same, same, {"y": (1,)}) == []
    assert find_symptoms(same * np.nan, same, {"y": (1,)}) == []
    relu = np.maximum(RAMP - 0.5, 0)
    assert find_symptoms(relu, relu * 1.01, {"y": (1,)}) == []


def test_a_part_of_an_output_that_became_constant_is_named():
    rng = np.random.default_rng(0)
    boxes = rng.uniform(0, 64, (30, 4, 8)).astype(np.float32)
    scores = rng.uniform(0, 0.9, (30, 2, 8)).astype(np.float32)
    f = np.concatenate([boxes, scores], axis=1)
    g = np.concatenate([boxes, scores * 0], axis=1)
    (found,) = find_symptoms(f.reshape(30, -1), g.reshape(30, -1), {"head": (6, 8)})
    assert found.kind == "constant" and "part 4, 5 of 6 along axis 1" in found.told
    never = f.copy()
    never[:, 5] *= 1e-3  # a class that the original never finds either
    g = np.concatenate([f[:, :5], f[:, 5:] * 0], axis=1)
    assert find_symptoms(never.reshape(30, -1), g.reshape(30, -1), {"head": (6, 8)}) == []
