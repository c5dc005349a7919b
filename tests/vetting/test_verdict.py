"""Agreement and verdict: counted as a person would, and decided by the ends of intervals."""

import numpy as np
import pytest

from asterism.vetting.agreement import Agreement, measure_agreement
from asterism.vetting.statistics import share_of
from asterism.vetting.verdict import Criterion, Thresholds, criteria_of, decide

ALLOWED = Thresholds(agreement=0.95, accuracy_lost=0.02, worst_class=0.9, natural_flips=0.1)


def agreement_of(pairs, labels=None, classes=3):
    """Agreement of models that answer these labels."""
    f, g = (np.eye(classes, dtype=np.float32)[[pair[i] for pair in pairs]] for i in (0, 1))
    deviates = f.argmax(1) != g.argmax(1)
    distance = np.abs(f - g).max(axis=1)
    given = None if labels is None else np.array(labels)
    return measure_agreement(f, g, deviates, distance, given, True, 0.95)


def test_deviations_are_counted_by_direction_and_class():
    found = agreement_of([(0, 0), (0, 1), (1, 0), (2, 1), (1, 2)], [0, 0, 0, 0, 2])
    assert found.differ.count == 4 and found.differ.total == 5
    assert found.directions == {"right to wrong": 1, "wrong to right": 2, "wrong to other wrong": 1}
    assert [share.count for share in found.accuracy] == [2, 3]
    assert {label: s.count for label, s in found.classes.items()} == {0: 3, 2: 1}
    assert found.worst_class[0] == 2
    assert Agreement.from_json(found.to_json()) == found


def test_without_labels_classes_are_the_originals_answers():
    found = agreement_of([(0, 0), (0, 1), (1, 1)])
    assert found.accuracy == () and found.directions == {}
    assert {label: s.count for label, s in found.classes.items()} == {0: 1, 1: 0}


def test_inputs_without_an_answer_are_counted_apart():
    f = np.array([[0.9, 0.1], [np.nan, 0.1], [0.2, 0.8]], np.float32)
    g = np.array([[0.8, 0.2], [0.5, 0.5], [np.inf, 0.8]], np.float32)
    zeros = np.zeros(3)
    found = measure_agreement(f, g, zeros.astype(bool), zeros, None, True, 0.95)
    assert (found.failed, found.differ.total) == (2, 1)


def verdict_of(differing, total, repaired=None, flips=None):
    pairs = [(0, 1)] * differing + [(0, 0)] * (total - differing)
    found = agreement_of(pairs, [0] * total)
    return decide(criteria_of(found, flips, ALLOWED, 0.95), repaired)


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
    verdict = verdict_of(differing, total)
    assert verdict.word == word
    assert verdict.reasons and all("%" in reason for reason in verdict.reasons)


def test_many_flips_under_slight_changes_are_no_ship():
    assert verdict_of(0, 1000, flips=share_of(300, 1000, 0.95)).word == "do not ship"
    assert verdict_of(0, 1000, flips=share_of(10, 1000, 0.95)).word == "ship"


def test_a_repair_counts_only_where_it_meets_all():
    good = Criterion("agreement", share_of(990, 1000, 0.95), 0.95, True, True)
    unsure = Criterion("agreement", share_of(95, 100, 0.95), 0.95, True, None)
    assert verdict_of(200, 1000, (good,)).word == "ship with the repair"
    assert verdict_of(200, 1000, (good, unsure)).word == "do not ship"
    assert verdict_of(0, 1000, (good,)).word == "ship", "nothing has to be repaired"
    assert Criterion.from_json(good.to_json()) == good
