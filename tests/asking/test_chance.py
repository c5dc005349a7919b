"""Answers that are right no more often than by chance."""

import numpy as np
import pytest

from asterism.asking.outputs import compute_accuracy, is_chance_level


def answers(right, of, classes=10, seed=0):
    """Labels, and answers of which so many are right and the others are the next class."""
    labels = np.random.default_rng(seed).integers(0, classes, of)
    told = (labels + 1) % classes
    told[:right] = labels[:right]
    return told, labels


@pytest.mark.parametrize(
    ("right", "of", "chance"), [(0, 50, True), (5, 50, True), (20, 50, False), (50, 50, False)]
)
def test_right_answers_are_counted_against_chance(right, of, chance):
    assert is_chance_level(*answers(right, of)) == chance


def test_the_commonest_label_alone_is_chance():
    labels = np.array([0] * 60 + [1] * 40)
    assert is_chance_level(np.zeros(100, np.int64), labels)
    assert not is_chance_level(labels, labels)


def test_all_right_is_no_chance_where_there_is_one_label():
    labels = np.full(30, 7)
    assert not is_chance_level(labels, labels)
    assert is_chance_level(np.full(30, 3), labels)


def test_no_answer_is_never_right():
    labels = np.arange(40) % 4
    assert is_chance_level(np.full(40, -1), labels)


def test_without_labels_nothing_is_known():
    assert is_chance_level(np.arange(9), None)
    assert compute_accuracy(np.eye(3, dtype=np.float32), None) == 0
    none = np.zeros(0, np.int64)
    assert is_chance_level(none, none) and compute_accuracy(np.zeros((0, 3), np.float32), none) == 0


def test_the_best_of_many_tries_has_to_be_better():
    told, labels = answers(13, 50)
    assert not is_chance_level(told, labels)
    assert is_chance_level(told, labels, tries=20)


def test_random_answers_are_seldom_better_than_chance():
    rng = np.random.default_rng(1)
    found = [is_chance_level(*rng.integers(0, 4, (2, 60))) for _ in range(200)]
    assert np.mean(found) > 0.9


def test_the_share_of_right_rows():
    rows = np.eye(4, dtype=np.float32)
    assert compute_accuracy(rows, np.array([0, 1, 0, 0])) == 0.5
