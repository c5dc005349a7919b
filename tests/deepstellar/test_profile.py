"""What is recorded of a network's states, and the coverage of sets of inputs in it."""

import tracemalloc

import numpy as np
import pytest
from structlog.testing import capture_logs
from test_dtmc import build

from asterism.core.messages.errors import UserError
from asterism.core.svg import svg_text
from asterism.data import Dataset
from asterism.deepstellar.criteria import measure_criteria
from asterism.deepstellar.measurement import _draw_references, measure_sets
from asterism.deepstellar.model.markov_chain import draw_markov_chain
from asterism.deepstellar.model.profile import BATCH, Profile, profile_states


class Network:
    """Stands for a network whose states are those of a given array, by an image's first pixel."""

    def __init__(self, states, labels, classes=3):
        self.states, self.labels, self.classes = states, labels, classes

    def run(self, images):
        which = images[:, 0, 0, 0].astype(np.int64)
        return np.eye(self.classes, dtype=np.float32)[self.labels[which]], self.states[which]


#: All values of the first pixel, each of which stands for its last digit, in states of its own.
VALUES = np.arange(251)
STATES = np.zeros((251, 8, 32), np.float32)
STATES += VALUES[:, np.newaxis, np.newaxis] + np.arange(8)[:, np.newaxis]
DIGITS = Network(STATES, VALUES % 10, classes=10)


def images(count):
    return (np.arange(count) % 251).astype(np.uint8)[:, np.newaxis, np.newaxis, np.newaxis]


@pytest.mark.parametrize("count", [1, BATCH, 2 * BATCH + 3])
def test_states_of_the_correctly_classified_inputs_in_order(tmp_path, count):
    labels = images(count)[:, 0, 0, 0].astype(np.int64) % 10
    labels[::3] = (labels[::3] + 1) % 10  # wrong
    labels[0] = 0
    kept = profile_states(DIGITS, images(count), labels, tmp_path)
    expected = np.flatnonzero(np.arange(count) % 251 % 10 == labels)
    found = Profile.load(tmp_path)
    assert kept == len(expected)
    assert np.array_equal(found.inputs, expected)
    assert np.array_equal(found.labels, labels[expected])
    assert found.states.shape == (kept, *STATES.shape[1:])
    assert np.array_equal(found.states, DIGITS.run(images(count)[expected])[1])


def test_memory_does_not_grow_with_the_number_of_inputs(tmp_path):
    peaks = []
    for count in (4 * BATCH, 32 * BATCH):
        inputs = images(count)
        labels = inputs[:, 0, 0, 0].astype(np.int64) % 10
        tracemalloc.start()
        profile_states(DIGITS, inputs, labels, tmp_path / str(count))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    one_more_input = 3 * 8  # its position, held until the end, and copies of it
    assert peaks[1] < peaks[0] + 28 * BATCH * one_more_input + 100_000


def test_a_network_that_is_always_wrong(tmp_path):
    wrong = np.full(5, 9, np.int64)
    with pytest.raises(UserError, match="nothing to profile"):
        profile_states(DIGITS, images(5), wrong, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def setting():
    from test_abstraction import random_states

    model, _, labels = build(3)
    numbers = np.arange(30, dtype=np.uint8)[:, np.newaxis, np.newaxis, np.newaxis]
    data = Dataset(numbers, labels, numbers[:20], labels[:20], 3)
    return Network(random_states(3), labels), model, data, numbers


def test_every_set_is_measured_and_the_suspicious_ones_are_told_apart(setting):
    network, model, data, numbers = setting
    sets = {"seeds": numbers[:4], "odd": numbers[20:], "empty": numbers[:0]}
    found = measure_sets(network, model, data, sets, ["odd", "empty"], references=3, seed=0)
    assert list(found.metrics) == ["test", "seeds", "odd", "empty"]
    codes = model.abstraction.encode(network.states[:20])
    assert found.metrics["test"] == {"inputs": 20, **measure_criteria(model, codes)}
    assert "state_similarity_auroc" in found.metrics["odd"]
    assert "state_similarity_auroc" not in found.metrics["seeds"]
    assert found.metrics["empty"]["inputs"] == 0
    assert found.metrics["empty"]["basic_state"] == 0
    assert set(found.curves["set"]) == {"odd"}
    assert set(found.curves["similarity"]) == {"state", "transition"}


def test_references_are_enough_where_a_class_is_mostly_misclassified(setting):
    network, model, data, _ = setting
    wrong = np.flatnonzero(data.train_labels == 0)[:-2]
    network.labels = network.labels.copy()
    network.labels[wrong] = 1
    for seed in range(5):
        with capture_logs() as told:
            references = _draw_references(network, model, data, 2, seed)
        assert np.bincount(references.predicted, minlength=3).tolist() == [2, 2, 2]
        assert not told
    with capture_logs() as told:
        references = _draw_references(network, model, data, 3, 0)
    assert np.bincount(references.predicted, minlength=3).tolist() == [2, 3, 3]
    assert [(line["label"], line["asked"], line["found"]) for line in told] == [(0, 3, 2)]


def test_a_network_that_is_always_wrong_is_measured(setting):
    network, model, data, numbers = setting
    network.labels = (network.labels + 1) % 3
    with capture_logs() as told:
        found = measure_sets(network, model, data, {"odd": numbers}, ["odd"], 3, seed=0)
    assert "state_similarity_auroc" not in found.metrics["odd"]
    assert {line["label"] for line in told} == {0, 1, 2}


def test_the_picture_is_the_same_every_time(setting):
    _, model, _, _ = setting
    assert svg_text(draw_markov_chain(model, states=10)) == svg_text(
        draw_markov_chain(model, states=10)
    )
    assert svg_text(draw_markov_chain(model, states=10_000)).startswith("<svg")
