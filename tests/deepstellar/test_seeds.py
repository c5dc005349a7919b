"""Selecting seeds, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from asterism.core.messages.errors import UserError
from asterism.core.random_streams import stream
from asterism.deepstellar.seeds import SeedInputs, select_seeds


def slow_select(predicted: list[int], labels: list[int], per_class: int, seed: int) -> list[int]:
    chosen: list[int] = []
    for label in sorted(set(labels)):
        right = [i for i in range(len(labels)) if labels[i] == label == predicted[i]]
        order = stream(seed, "select_seeds", label).permutation(len(right))
        chosen += [right[k] for k in order[:per_class]]
    return chosen


@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=60),
    wrong=st.integers(0, 2**60),
    per_class=st.integers(1, 8),
    seed=st.integers(0, 1000),
)
def test_selection_agrees_with_plain_loops(
    labels: list[int], wrong: int, per_class: int, seed: int
) -> None:
    predicted = [(x + (wrong >> i & 1)) % 5 for i, x in enumerate(labels)]
    expected = slow_select(predicted, labels, per_class, seed)
    if not expected:
        with pytest.raises(UserError, match="no seeds"):
            select_seeds(np.array(predicted), np.array(labels), 5, per_class, seed)
        return
    chosen = select_seeds(np.array(predicted), np.array(labels), 5, per_class, seed)
    assert chosen.tolist() == expected
    assert len(set(expected)) == len(expected)


def test_a_class_is_drawn_alike_whatever_the_others_do() -> None:
    labels = np.repeat([0, 1, 2], 30)
    every = select_seeds(labels, labels, 3, 5, 7)
    fewer = select_seeds(np.where(labels == 1, 2, labels), labels, 3, 5, 7)
    assert np.array_equal(every[:5], fewer[:5])
    assert np.array_equal(every[10:], fewer[5:])
    assert not np.array_equal(every, select_seeds(labels, labels, 3, 5, 8))


def test_a_class_with_too_few_seeds_is_named_also_when_it_has_none() -> None:
    labels = np.repeat([0, 1, 3], [5, 2, 5])
    with capture_logs() as told:
        assert len(select_seeds(labels, labels, 5, 3, 0)) == 8
    assert [(line["label"], line["found"]) for line in told] == [(1, 2), (2, 0), (4, 0)]
    assert all(line["asked"] == 3 and line["log_level"] == "warning" for line in told)


def test_seeds_come_back_from_their_file(tmp_path) -> None:
    images = np.arange(2 * 12, dtype=np.uint8).reshape(2, 3, 4, 1)
    SeedInputs(images, np.array([1, 0]), np.array([5, 3])).save(tmp_path)
    seeds = SeedInputs.load(tmp_path)
    assert np.array_equal(seeds.images, images)
    assert seeds.labels.tolist() == [1, 0] and seeds.inputs.tolist() == [5, 3]
