"""Searches of what is no image and no classifier: vectors, and models that give one number each."""

import numpy as np
import pytest
from kinds import domain_of
from subjects import OPTIONS

from asterism.dflare.comparisons import build_comparison
from asterism.dflare.lockstep import PairUnderTest, SeedBudget
from asterism.dflare.outcome import Findings
from asterism.dflare.pair import ModelPair
from asterism.dflare.params import ComparisonParams, SearchParams
from asterism.dflare.trigger import draw_seeds, save_found, search_pair

TOLERANCE = 0.05


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
    items = np.random.default_rng(1).normal(0, 0.4, (20, 4)).astype(np.float32)
    close = ComparisonParams(kind="tolerance", options={"absolute": TOLERANCE, "relative": 0.0})
    domain = domain_of("tensors", items)
    under_test = PairUnderTest(ModelPair(f, g), domain, build_comparison(close, (1,)))
    seeds = draw_seeds(items, 12, 0)
    found = search_pair(searches, under_test, seeds, SeedBudget(300), 0, minimise_queries=20)
    summary = save_found(found, seeds, domain, tmp_path)[search]
    assert summary["triggered"] > 8
    assert summary["mean_minimal_l2"] <= summary["mean_l2"]
    for trigger in Findings.load(tmp_path / search).triggers:
        item = trigger.item[np.newaxis]
        assert abs(f.predict(item) - g.predict(item))[0, 0] > TOLERANCE
        assert set(trigger.operators) <= {*domain.operators, "crossover", "mutation"}
