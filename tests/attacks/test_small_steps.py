"""Carlini and Wagner's search step by step, on functions in the place of networks; input sets."""

import math

import numpy as np
import pytest

from asterism.attacks.augmentation import (
    AugmentationSet,
    ImageSet,
    InputSplit,
    mean_or_none,
    prefix_facts,
)
from asterism.attacks.methods import AttackSeeds
from asterism.attacks.methods.carlini_wagner import CarliniWagner
from asterism.core.messages.errors import UserError

OPTIONS = {
    "inputs": None,
    "confidence": 0.0,
    "learning_rate": 0.1,
    "binary_search_steps": 1,
    "iterations": 1,
    "abort_early": False,
    "initial_const": 1.0,
}


def attack(inputs=9, batch=4, **changes):
    return CarliniWagner(CarliniWagner.Options.model_validate(OPTIONS | changes), inputs, batch)


def victims(*levels):
    """One-pixel images of class 0."""
    images = np.array(levels, np.float32).reshape(-1, 1, 1, 1)
    return AttackSeeds(images, np.zeros(len(images), np.int64), np.arange(len(images)), 0)


class Threshold:
    """Another class wins where the loss weighs enough, which depends on the input's label alone.

    Attributes:
        weights: that were tried, those of each step.
    """

    def __init__(self, needed, after=-1.0):
        self._needed, self._after = np.array(needed), after
        self.weights = []

    def lead(self, x, labels, weights, margin):
        self.weights.append(weights.tolist())
        enough = weights >= self._needed[labels]
        return np.where(enough, self._after, 1.0), np.zeros_like(x)


def tried(needed, steps, **changes):
    """The constants that one input's trials have."""
    estimator = Threshold([needed])
    attack(binary_search_steps=steps, **changes).perturb(estimator, victims(0.5))
    return [weights[0] for weights in estimator.weights]


def halves(low, high, needed, count):
    """The next constants between one that was too small and one that worked."""
    found = []
    for _ in range(count):
        middle = (low + high) / 2
        found.append(middle)
        low, high = (low, middle) if middle >= needed else (middle, high)
    return found, high


@pytest.mark.parametrize("steps", [1, 2, 3, 9, 10, 11])
def test_the_constant_is_searched_between_what_failed_and_what_worked(steps):
    between, _ = halves(1.0, 10.0, 5.0, 9)
    expected = [1.0, 10.0, *between][:steps]
    if steps >= 10:  # the last trial repeats the largest constant that has worked
        _, smallest = halves(1.0, 10.0, 5.0, steps - 3)
        expected[-1] = smallest
    assert tried(5.0, steps) == expected


def test_a_constant_that_never_works_grows_tenfold():
    assert tried(1e30, 4, initial_const=0.5) == [0.5, 5.0, 50.0, 500.0]
    assert tried(1e30, 10)[-2:] == [1e8, 1e10]


def test_one_that_works_at_once_is_halved():
    assert tried(0.0, 4) == [1.0, 0.5, 0.25, 0.125]


@pytest.mark.parametrize("confidence", [0.0, 0.5])
def test_another_class_wins_by_more_than_the_confidence(confidence):
    none, at_once = [1.0, 10.0, 100.0], [1.0, 0.5, 0.25]
    for lead, expected in ((-confidence, none), (-confidence - 1e-6, at_once)):
        estimator = Threshold([0.0], after=lead)
        options = {"confidence": confidence, "binary_search_steps": 3}
        attack(**options).perturb(estimator, victims(0.5))
        assert [weights[0] for weights in estimator.weights] == expected


def test_inputs_have_constants_of_their_own():
    estimator = Threshold([0.0, 1e30])
    given = victims(0.5, 0.6)
    two = AttackSeeds(given.images, np.array([1, 0]), given.sources, 0)
    attack(binary_search_steps=3).perturb(estimator, two)
    assert estimator.weights == [[1.0, 1.0], [10.0, 0.5], [100.0, 0.25]]


class Slope:
    """The class leads by how far a pixel is above a level."""

    def __init__(self, level, slope=1.0):
        self._level, self._slope = level, slope
        self.calls = 0
        self.sizes = []

    def lead(self, x, labels, weights, margin):
        self.calls += 1
        self.sizes.append(len(x))
        leads = (x[:, 0, 0, 0] - self._level) * self._slope
        inside = weights * self._slope * (leads + margin > 0)
        return leads, np.broadcast_to(inside.reshape(-1, 1, 1, 1), x.shape).astype(np.float32)


def nearest_by_hand(start, level, slope, options):
    """One trial on one pixel, number by number; None where no other class was found."""
    confidence, rate = options["confidence"], options["learning_rate"]
    anchor = math.atanh((2 * start - 1) * 0.999999)
    origin, best = (math.tanh(anchor) + 1) / 2, None
    change = mean = square = 0.0
    for step in range(1, options["iterations"] + 1):
        bent = math.tanh(anchor + change)
        pixel = (bent + 1) / 2
        lead = (pixel - level) * slope
        if lead + confidence < 0 and (best is None or abs(pixel - start) < abs(best - start)):
            best = pixel
        pull = options["initial_const"] * slope * (lead + confidence > 0)
        gradient = (pull + 2 * (pixel - origin)) * (1 - bent * bent) / 2
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient * gradient
        change -= (rate * mean / (1 - 0.9**step)) / (math.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return best


@pytest.mark.parametrize("confidence", [0.0, 0.05])
def test_steps_are_adams_behind_a_tanh(confidence):
    options = {"confidence": confidence, "iterations": 25, "initial_const": 3.0}
    levels = [0.9, 0.7, 0.55, 0.45, 1.0]
    found = attack(**options).perturb(Slope(0.5, 2.0), victims(*levels)).ravel()
    for start, pixel in zip(levels, found, strict=True):
        expected = nearest_by_hand(start, 0.5, 2.0, OPTIONS | options)
        assert pixel == pytest.approx(start if expected is None else expected, abs=1e-4)
    assert found[1] < 0.5 - confidence / 2 < found[1] + 0.05


def test_inputs_are_attacked_in_batches_and_as_if_alone():
    levels = [0.9, 0.7, 0.55, 0.45, 0.8]
    options = {"iterations": 12, "binary_search_steps": 3, "abort_early": True}
    estimator = Slope(0.5)
    together = attack(batch=2, **options).perturb(estimator, victims(*levels))
    assert estimator.sizes[0] == 2 and estimator.sizes[-1] == 1
    for at, level in enumerate(levels):
        alone = attack(**options).perturb(Slope(0.5), victims(level))
        assert alone[0] == together[at]


@pytest.mark.parametrize(
    ("early", "iterations", "calls"),
    [(False, 20, 20), (True, 20, 3), (True, 10, 2), (True, 45, 6), (True, 5, 2)],
)
def test_a_trial_ends_where_its_loss_stops_falling(early, iterations, calls):
    """Checks are a tenth of the steps apart, rounded up; the first has nothing before it."""
    flat = Slope(0.0, 0.0)
    options = {"abort_early": early, "iterations": iterations, "confidence": 1.0}
    attack(**options).perturb(flat, victims(0.5))
    assert flat.calls == calls


def test_a_trial_goes_on_while_its_loss_falls():
    falling = Slope(0.5)
    attack(abort_early=True, iterations=20, learning_rate=0.01).perturb(falling, victims(0.9))
    assert falling.calls == 20


@pytest.mark.parametrize(("own", "inputs"), [(None, 9), (4, 4), (20, 9)])
def test_the_slow_attack_may_have_fewer_inputs(own, inputs):
    options = CarliniWagner.Options.model_validate(OPTIONS | {"inputs": own})
    assert CarliniWagner(options, 9, 4).inputs == inputs


def test_a_set_of_changed_images_tells_of_those_alone():
    facts = {
        "images": np.zeros((4, 1, 1, 1)),
        "sources": np.array([3, -1, 5, 6]),
        "l2": np.array([1.0, 50.0, 2.0, 6.0]),
        "linf": np.array([0.5, 50.0, 0.25, 0.0]),
        "success": np.array([True, True, False, False]),
    }
    found = ImageSet(**facts)
    assert found.changed.tolist() == found.judged.tolist() == [True, False, True, True]
    assert found.summary() == {
        "success": pytest.approx(1 / 3),
        "l2_mean": pytest.approx(3.0),
        "linf_mean": pytest.approx(0.25),
    }
    assert set(found.per_input()) == {"sources", "l2", "linf", "success"}
    assert found.per_input()["l2"] is facts["l2"]
    both = prefix_facts({"a": {"x": facts["l2"]}, "b": {"x": facts["linf"], "y": facts["success"]}})
    assert {name: array.tolist() for name, array in both.items()} == {
        "a_x": facts["l2"].tolist(),
        "b_x": facts["linf"].tolist(),
        "b_y": facts["success"].tolist(),
    }
    assert mean_or_none(np.zeros(0)) is None and mean_or_none(np.array([1, 2])) == 1.5


def test_attacked_images_are_measured_against_their_victims():
    before, wrong = victims(0.5, 0.25), np.array([True, False])
    after = before.images + np.float32([[[[0.25]]], [[[-0.25]]]])
    found = AugmentationSet.attacked(after, before, wrong, ~wrong)
    assert found.l2.tolist() == found.linf.tolist() == [0.25, 0.25]
    assert found.positions.tolist() == [-1, -1] and found.sources.tolist() == [0, 1]
    assert found.summary() == {
        "inputs": 2, "success": 0.5, "l2_mean": 0.25, "linf_mean": 0.25, "success_rounded": 0.5
    }  # fmt: skip


@pytest.mark.parametrize(
    ("positions", "judged", "success"),
    [(None, [False] * 3, None), (np.array([4, -1, 0]), [True, False, True], 0.0)],
)
def test_natural_images_are_judged_where_their_class_is_known(positions, judged, success):
    found = AugmentationSet.natural(np.zeros((3, 1, 1, 1), np.float32), positions)
    assert found.judged.tolist() == judged and not found.changed.any()
    assert not found.l2.any() and not found.linf.any() and not found.success.any()
    summary = found.summary()
    assert (summary["inputs"], summary["l2_mean"]) == (3, None)
    assert summary["success"] == summary["success_rounded"] == success


def test_test_inputs_are_parted_at_random():
    split = InputSplit.draw(10, 0.34, 1)
    assert (len(split.base), len(split.pool)) == (3, 7)
    assert sorted([*split.base, *split.pool]) == list(range(10))
    assert list(split.base) == sorted(split.base) and list(split.pool) == sorted(split.pool)
    assert split.base.tolist() != InputSplit.draw(10, 0.34, 2).base.tolist()
    assert len(InputSplit.draw(2, 0.5, 0).base) == 1
    for share in (0.01, 0.99):
        with pytest.raises(UserError, match=f"attack.base_share={share} leaves no inputs"):
            InputSplit.draw(10, share, 0)
