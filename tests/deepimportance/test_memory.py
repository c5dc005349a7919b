"""The lane's memory does not grow with the number of inputs, training or test."""

import tracemalloc

import keras
import numpy as np
import pytest
from test_coverage import CRITERIA, UNIT, classifier, importance

from asterism.criteria import density, row_file
from asterism.criteria.families import ACTIVATION_CRITERIA as REGISTERED
from asterism.criteria.families import surprise
from asterism.deepimportance import clusters as histogram
from asterism.deepimportance.fitting import fit_criteria
from asterism.deepimportance.judged_keras import JudgedKeras
from asterism.deepimportance.measurement import measure_adequacy


class Endless:
    """Images that come into being when they are asked for."""

    dtype = np.dtype(np.uint8)

    def __init__(self, count, seed):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    @property
    def shape(self):
        return self.count, 8, 8, 1

    def __getitem__(self, part):
        size = len(range(*part.indices(self.count)))
        rng = np.random.default_rng((self.seed, part.start))
        return rng.integers(0, 256, (size, 8, 8, 1), np.uint8)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """What is kept in memory at most is reached by a few thousand inputs already."""
    for module in (density, surprise):
        monkeypatch.setattr(module, "CHUNK", 128)
    monkeypatch.setattr(row_file, "BLOCK", 256)
    monkeypatch.setattr(histogram, "CELLS", 256)


def peak_bytes(model, train, test):
    """Most memory that learning from and judging so many inputs takes at any time."""
    everything = CRITERIA.model_copy(update={"names": REGISTERED.names()})
    images, labels = Endless(train, 0), np.zeros(train, np.int64)
    tracemalloc.start()
    try:
        fitted = fit_criteria(
            JudgedKeras(model, UNIT), images, labels, importance(neurons=[4]), everything
        )
        measured = measure_adequacy(fitted, Endless(test, 1), Endless(0, 2), {})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert measured.metrics["test_set"]["inputs"] == test
    return peak


@pytest.mark.slow
def test_memory_does_not_grow_with_the_inputs():
    keras.utils.set_random_seed(0)
    model = classifier()
    peak_bytes(model, 520, 520)  # what is only set up once
    few = max(peak_bytes(model, 600, 600) for _ in range(2))
    room = 4 * 4_000  # four bytes for each further input are too many
    for train, test in ((4_600, 600), (600, 4_600)):
        # Garbage that is not collected yet adds now and then; what grows adds every time.
        assert any(peak_bytes(model, train, test) < few + room for _ in range(3))
