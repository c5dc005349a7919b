"""Minimal triggering inputs still trigger, with fewer changes."""

import numpy as np
import pytest
from kinds import domain_of
from subjects import OPERATORS, TOP_LABEL, crashing, models, search, seeds, under_test

from asterism.core.parameters.construction import NoOptions
from asterism.dflare.domains.images import ImageDomain
from asterism.dflare.lockstep import PairUnderTest, SeedBudget
from asterism.dflare.minimise import minimise
from asterism.dflare.pair import ModelPair
from asterism.dflare.params import BoundParams


@pytest.fixture(scope="module")
def found():
    items = seeds(20)
    triggers = search(items, budget=SeedBudget(100)).run().triggers
    return np.stack([t.item for t in triggers]), items[[t.seed for t in triggers]]


@pytest.mark.parametrize("queries", [0, 5, 200])
def test_they_still_trigger_and_only_lose_changes(found, queries):
    items, references = found
    f, g = models()
    minimal = minimise(under_test(), items, references, queries)
    assert (f.predict(minimal).argmax(1) != g.predict(minimal).argmax(1)).all()
    kept = minimal != references
    assert np.array_equal(minimal[kept], items[kept])
    assert (kept.sum(axis=(1, 2, 3)) <= (items != references).sum(axis=(1, 2, 3))).all()
    if queries == 200:
        assert kept.sum() < 0.7 * (items != references).sum()


def test_with_time_enough_no_single_change_can_go(found):
    items, references = found
    f, g = models()
    minimal = minimise(under_test(), items, references, 2000)
    for item, reference in zip(minimal, references, strict=True):
        for row, column, _ in np.argwhere(item != reference):
            without = item.copy()
            without[row, column] = reference[row, column]
            probe = without[np.newaxis]
            assert f.predict(probe).argmax() == g.predict(probe).argmax()


def test_a_reversion_on_which_a_model_fails_is_not_kept(found):
    """A failed model's outputs are NaN, whose label is 0: that is no deviation."""
    items, references = found
    rows = [r for r in range(len(items)) if (items[r] != references[r]).sum() > 1]
    items, references = items[rows], references[rows]
    allowed = {item.tobytes() for item in items}

    def fragile(model):
        return crashing(model, lambda item: item.tobytes() not in allowed)

    f, g = models()
    for original, compressed in ((f, fragile(g)), (fragile(models()[0]), models()[1])):
        minimal = minimise(under_test(original, compressed), items, references, 50)
        assert np.array_equal(minimal, items)


#: A text, and the same one with a letter more and, behind it, without another one.
EDITED = b"abcdefghij", b"abXcdeghij"


class Sure:
    """A model that is sure of the class that a rule gives."""

    name, classes = "sure", 2

    def __init__(self, rule):
        self.rule = rule

    def predict(self, items):
        return np.eye(2, dtype=np.float32)[[self.rule(item) for item in items]]


@pytest.mark.parametrize(("limit", "kept"), [(4.0, True), (8.0, False)])
def test_an_edit_is_not_reverted_where_the_other_alone_leads_out_of_the_bound(limit, kept):
    seed, found = (np.frombuffer(text, np.uint8).astype(np.int16) for text in EDITED)
    domain = domain_of("bytes", seed[np.newaxis])
    bound = BoundParams(measure="hamming", limit=limit)
    pair = ModelPair(Sure(lambda _: 0), Sure(lambda item: int((item != seed).any())))
    subject = PairUnderTest(pair, domain, TOP_LABEL, bound)
    (minimal,) = minimise(subject, found[np.newaxis], seed[np.newaxis], 50)
    assert np.array_equal(minimal, found) == kept
    assert (minimal != seed).any()


def test_none_gives_none():
    empty = seeds(3)[:0]
    assert len(minimise(under_test(), empty, empty, 10)) == 0


def test_distances_are_their_definitions():
    domain = ImageDomain(OPERATORS, NoOptions())
    items, references = seeds(5, seed=1), seeds(5, seed=2)
    given = {name: domain.distance(items, references, name) for name in domain.measures}
    for i in range(5):
        difference = items[i].astype(float) - references[i].astype(float)
        assert given["l2"][i] == pytest.approx(np.sqrt((difference**2).sum()))
        assert given["linf"][i] == np.abs(difference).max()
        assert given["pixels"][i] == (difference != 0).any(axis=-1).sum()
