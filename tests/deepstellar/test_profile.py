import tracemalloc

import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.deepstellar.model.profile import BATCH, Profile, profile

STEPS, WIDTH = 8, 32


class Network:
    """Stands for a network: an image's first pixel decides its class and its states."""

    def run(self, images):
        first = images[:, 0, 0, 0].astype(np.int64)
        probabilities = np.zeros((len(images), 10), np.float32)
        probabilities[np.arange(len(images)), first % 10] = 1
        steps = np.arange(STEPS, dtype=np.float32)[:, np.newaxis]
        states = first[:, np.newaxis, np.newaxis] + steps + np.zeros(WIDTH, np.float32)
        return probabilities, states.astype(np.float32)


def images(count):
    return (np.arange(count) % 251).astype(np.uint8)[:, np.newaxis, np.newaxis, np.newaxis]


@pytest.mark.parametrize("count", [1, BATCH, 2 * BATCH + 3])
def test_states_of_the_correctly_classified_inputs_in_order(tmp_path, count):
    labels = images(count)[:, 0, 0, 0].astype(np.int64) % 10
    labels[::3] = (labels[::3] + 1) % 10  # wrong
    labels[0] = 0
    kept = profile(Network(), images(count), labels, tmp_path)
    expected = np.flatnonzero(np.arange(count) % 251 % 10 == labels)
    found = Profile.load(tmp_path)
    assert kept == len(expected)
    assert np.array_equal(found.inputs, expected)
    assert np.array_equal(found.labels, labels[expected])
    assert found.states.shape == (kept, STEPS, WIDTH)
    assert np.array_equal(found.states, Network().run(images(count)[expected])[1])


def test_memory_does_not_grow_with_the_number_of_inputs(tmp_path):
    peaks = []
    for count in (4 * BATCH, 32 * BATCH):
        inputs = images(count)
        labels = inputs[:, 0, 0, 0].astype(np.int64) % 10
        tracemalloc.start()
        profile(Network(), inputs, labels, tmp_path / str(count))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    one_more_input = 3 * 8  # its position, held until the end, and copies of it
    assert peaks[1] < peaks[0] + 28 * BATCH * one_more_input + 100_000


def test_a_network_that_is_always_wrong(tmp_path):
    wrong = np.full(5, 9, np.int64)
    with pytest.raises(UserError, match="nothing to profile"):
        profile(Network(), images(5), wrong, tmp_path)
    assert list(tmp_path.iterdir()) == []
