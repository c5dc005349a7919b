"""Searches of what is no image and no classifier: vectors, and models that give one number each."""

import numpy as np
import pytest
from subjects import OPTIONS

from asterism.dflare.lockstep import PairUnderTest, SeedBudget
from asterism.dflare.outcome import Findings
from asterism.dflare.pair import ModelPair
from asterism.dflare.params import SearchParams
from asterism.dflare.trigger import draw_seeds, save_found, search_pair

TOLERANCE = 0.05


class Vectors:
    """Vectors of float64, ``(N, D)``."""

    operators = ("step", "stretch")
    few_mutants = np.array([False, False])

    def mutate(self, items, operators, streams):
        drawn = streams.of(np.arange(len(items))).uniform(-0.5, 0.5, items.shape)
        return np.where(operators[:, np.newaxis] == 0, items + drawn, items * (1 + drawn))

    def variants(self, shape, operators, streams):
        return np.full(len(operators), -1)

    def crossover(self, first, second, rng):
        return np.where(rng.random(first.shape) < 0.5, first, second)

    def distances(self, items, references):
        return {"l1": np.abs(items - references).sum(axis=1)}

    def changes(self, item, reference):
        places = np.flatnonzero(item != reference)
        return places[np.argsort(np.abs(item - reference)[places])]

    def revert(self, item, reference, places):
        reverted = item.copy()
        reverted[places] = reference[places]
        return reverted


class Drift:
    """Numbers deviate where they are further apart than rounding explains."""

    def deviates(self, f, g):
        return self.distance(f, g) > TOLERANCE

    def distance(self, f, g):
        return np.abs(f - g)[:, 0]

    def uncertainty(self, f, g, k):
        return self.distance(f, g)


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


@pytest.mark.parametrize("search", ["dflare", "diffchaser"])
def test_vectors_and_numbers_are_searched_like_images_and_labels(search, tmp_path):
    searches = {search: SearchParams(search=search, options=OPTIONS[search])}
    f, g = Curve(0), Curve(0.1)
    under_test = PairUnderTest(ModelPair(f, g), Vectors(), Drift())
    seeds = draw_seeds(np.random.default_rng(1).normal(0, 0.3, (20, 4)), 12, 0)
    found = search_pair(searches, under_test, seeds, SeedBudget(300), 0, minimise_queries=20)
    summary = save_found(found, seeds, under_test.domain, tmp_path)[search]
    assert summary["triggered"] > 8
    assert summary["mean_minimal_l1"] <= summary["mean_l1"]
    for trigger in Findings.load(tmp_path / search).triggers:
        item = trigger.item[np.newaxis]
        assert abs(f.predict(item) - g.predict(item))[0, 0] > TOLERANCE
        assert set(trigger.operators) <= {*Vectors.operators, "crossover", "mutation"}
