"""Every registered criterion: properties that all have, and slow twins of each."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gaussian_kde

from asterism.core.messages.errors import UserError
from asterism.criteria import density, row_file
from asterism.criteria.families import (
    ACTIVATION_CRITERIA,
    Activations,
    CriteriaParams,
    build_criteria,
    surprise,
)
from asterism.criteria.row_file import RowFile
from set_options import section

SIZES = {"conv": 4, "hidden": 6, "last": 5}
NAMES = ACTIVATION_CRITERIA.names()


OPTIONS = section("criteria")["options"] | {
    "neuron_coverage": {"threshold": 0.75, "scaled": True},
    "k_multisection": {"sections": 7},
    "top_k_neuron_coverage": {"k": 2},
    "top_k_neuron_patterns": {"k": 2},
    "likelihood_surprise": {"buckets": 20, "upper": None, "min_variance": 1e-5},
    "distance_surprise": {"buckets": 20, "upper": 2.0},
}


def new(name, **options):
    """A criterion that has learnt nothing, with options that differ from those above."""
    given = {name: OPTIONS.get(name, {}) | options}
    return build_criteria(CriteriaParams(names=[name], layers=None, options=given))[name]


def draw(count, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    layers = {
        name: np.maximum(rng.normal(0.2, scale, (count, size)), 0).astype(np.float32)
        for name, size in SIZES.items()
    }
    return Activations(layers, layers["hidden"], rng.integers(0, 3, count))


def part(batch, rows):
    layers = {name: values[rows] for name, values in batch.layers.items()}
    decisions = None if batch.decisions is None else batch.decisions[rows]
    return Activations(layers, layers["hidden"], decisions)


def scaled(batch, unit):
    layers = {name: values * np.float32(unit) for name, values in batch.layers.items()}
    return Activations(layers, layers["hidden"], batch.decisions)


TRAINING = draw(120, 0)


@cache
def learnt(name):
    criterion = new(name)
    criterion.fit(TRAINING)
    criterion.fork().update(TRAINING)  # whatever is only worked out when it is asked for
    return criterion


def fitted(name, training=TRAINING):
    """A criterion that has learnt from the training inputs and covered nothing."""
    if training is TRAINING:
        return learnt(name).fork()
    criterion = new(name)
    criterion.fit(training)
    return criterion


@pytest.mark.parametrize("name", NAMES)
@given(
    seed=st.integers(0, 1000),
    cuts=st.lists(st.integers(1, 29), max_size=4, unique=True),
    order=st.permutations(range(30)),
)
@settings(max_examples=15)
def test_order_and_batches_do_not_matter_and_coverage_never_falls(name, seed, cuts, order):
    batch = draw(30, seed, 1.5)
    whole, parts = fitted(name), fitted(name)
    whole.update(batch)
    shuffled = part(batch, np.array(order))
    last = 0.0
    for rows in np.split(np.arange(30), sorted(cuts)):
        parts.update(part(shuffled, rows))
        assert parts.value() >= last
        last = parts.value()
    assert last == whole.value()
    assert last >= 0
    if name != "top_k_neuron_patterns":
        assert last <= 1


@pytest.mark.parametrize("name", NAMES)
def test_the_training_set_may_come_in_batches(name):
    test = draw(40, 9, 1.4)
    whole = fitted(name)
    pieces = new(name)
    for rows in np.array_split(np.random.default_rng(1).permutation(120), 5):
        pieces.fit(part(TRAINING, rows))
    whole.update(test)
    pieces.update(test)
    assert pieces.value() == pytest.approx(whole.value())


@pytest.mark.parametrize("name", NAMES)
def test_a_fork_goes_on_alone(name):
    first = fitted(name)
    first.update(part(draw(10, 1), np.arange(1)))
    before = first.value()
    fork = first.fork()
    assert fork.value() == before
    fork.update(draw(200, 2, 1.5))
    assert first.value() == before
    assert fork.value() > before


@pytest.mark.parametrize("name", ["neuron_boundary", "strong_neuron_activation"])
def test_the_ends_of_a_training_range_are_not_beyond_it(name):
    criterion = fitted(name)
    criterion.update(TRAINING)
    assert criterion.value() == 0
    beyond = {
        n: np.nextafter(v.max(axis=0), np.float32(9))[None] for n, v in TRAINING.layers.items()
    }
    criterion.update(Activations(beyond, beyond["hidden"], np.zeros(1, np.int64)))
    assert criterion.value() == (0.5 if name == "neuron_boundary" else 1)


def test_the_ends_of_a_training_range_are_in_its_outer_sections():
    criterion, ends = fitted("k_multisection"), {}
    for name, values in TRAINING.layers.items():
        ends[name] = np.stack([values.min(axis=0), values.max(axis=0)])
    criterion.update(Activations(ends, ends["hidden"], np.zeros(2, np.int64)))
    assert criterion.value() == 2 / OPTIONS["k_multisection"]["sections"]


@pytest.mark.parametrize("name", ["k_multisection", "neuron_boundary", "strong_neuron_activation"])
def test_ranges_are_measured_in_whatever_unit_the_activations_have(name):
    values = []
    for unit in (1.0, 2.0**-10):
        training, test = (scaled(batch, unit) for batch in (TRAINING, draw(30, 1, 2.0)))
        criterion = new(name)
        criterion.fit(training)
        criterion.update(test)
        values.append(criterion.value())
    assert values[0] == values[1] > 0


@pytest.mark.parametrize("name", [n for n in NAMES if not ACTIVATION_CRITERIA[n].needs_classes])
def test_regressors_have_no_decisions(name):
    training = Activations(TRAINING.layers, TRAINING.subject, None)
    criterion = fitted(name, training)
    test = draw(30, 4)
    criterion.update(Activations(test.layers, test.subject, None))
    assert criterion.value() > 0


@pytest.mark.parametrize("name", NAMES)
def test_what_goes_to_disk_piece_by_piece_is_the_same(name, monkeypatch):
    test = draw(90, 21, 1.4)
    whole = fitted(name)
    whole.update(test)
    for module in (density, surprise):
        monkeypatch.setattr(module, "CHUNK", 7)
    monkeypatch.setattr(row_file, "BLOCK", 8)
    pieces = new(name)
    for rows in np.array_split(np.arange(120), 4):
        pieces.fit(part(TRAINING, rows))
    for rows in np.array_split(np.arange(90), 6):
        pieces.update(part(test, rows))
    assert pieces.value() == pytest.approx(whole.value())


def neurons(batch):
    for name, values in batch.layers.items():
        for i in range(values.shape[1]):
            yield name, i, values[:, i]


def twin_neuron_coverage(training, test):
    hit = total = 0
    for name, i, _ in neurons(test):
        total += 1
        for row in test.layers[name]:
            spread = row.max() - row.min()
            if spread > 0 and (row[i] - row.min()) / spread > 0.75:
                hit += 1
                break
    return hit / total


def twin_k_multisection(training, test):
    hit = total = 0
    for name, i, values in neurons(test):
        low, high = training.layers[name][:, i].min(), training.layers[name][:, i].max()
        total += 7
        edges = np.linspace(np.float64(low), np.float64(high), 8)
        for k in range(7):
            top = values <= edges[k + 1] if k == 6 else values < edges[k + 1]
            hit += bool(np.any((values >= edges[k]) & top))
    return hit / total


def twin_neuron_boundary(training, test):
    hits = [
        bool((v > training.layers[n][:, i].max()).any())
        + bool((v < training.layers[n][:, i].min()).any())
        for n, i, v in neurons(test)
    ]
    return sum(hits) / (2 * len(hits))


def twin_strong_neuron_activation(training, test):
    hits = [bool((v > training.layers[n][:, i].max()).any()) for n, i, v in neurons(test)]
    return sum(hits) / len(hits)


def _top(row, k=2):
    return frozenset(sorted(range(len(row)), key=lambda i: (-row[i], i))[:k])


def twin_top_k_neuron_coverage(training, test):
    hit = sum(len(frozenset().union(*map(_top, values))) for values in test.layers.values())
    return hit / sum(SIZES.values())


def twin_top_k_neuron_patterns(training, test):
    return len({tuple(_top(v[n]) for v in test.layers.values()) for n in range(len(test))})


def twin_sign_sign(training, test):
    shown, total = set(), 0
    for a, b in itertools.pairwise(test.layers):
        first, second = test.layers[a] > 0, test.layers[b] > 0
        total += first.shape[1] * second.shape[1]
        for x, y in itertools.combinations(range(len(test)), 2):
            changed = np.flatnonzero(first[x] != first[y])
            if len(changed) == 1:
                shown |= {(a, changed[0], j) for j in np.flatnonzero(second[x] != second[y])}
    return len(shown) / total


def twin_distance_surprise(training, test):
    found = set()
    known, of = training.layers["hidden"].astype(float), training.decisions
    for x, c in zip(test.layers["hidden"].astype(float), test.decisions, strict=True):
        a = min(known[of == c], key=lambda p: math.dist(p, x))
        b = min(known[of != c], key=lambda p: math.dist(p, a))
        surprise = math.dist(x, a) / math.dist(a, b)
        if surprise <= 2.0:
            found.add(min(int(surprise / 2.0 * 20), 19))
    return len(found) / 20


def _surprise(x, points, of):
    """Minus the log density at ``x`` of some points, with the bandwidth that ``of`` gives."""
    count, size = of.shape
    bandwidth = np.cov(of.T) * count ** (-2 / (size + 4))
    volume = math.sqrt(np.linalg.det(2 * math.pi * bandwidth))
    inverse = np.linalg.inv(bandwidth)
    kernels = [math.exp(-(x - p) @ inverse @ (x - p) / 2) for p in points]
    return -math.log(sum(kernels) / len(kernels) / volume)


def twin_likelihood_surprise(training, test):
    known, of = training.layers["hidden"].astype(float), training.decisions
    own = []
    for c in range(3):
        points = known[of == c]
        for i in range(len(points)):
            own.append(_surprise(points[i], np.delete(points, i, axis=0), points))
    low, high = min(own), 2 * max(own) - min(own)
    found = set()
    for x, c in zip(test.layers["hidden"].astype(float), test.decisions, strict=True):
        surprise = _surprise(x, known[of == c], known[of == c])
        if low <= surprise <= high:
            found.add(min(int((surprise - low) / (high - low) * 20), 19))
    return len(found) / 20


TWINS = {name.removeprefix("twin_"): f for name, f in globals().items() if name.startswith("twin_")}


def moved(batch, by):
    """Activations as they are behind no ReLU: all of them shifted."""
    layers = {name: values + np.float32(by) for name, values in batch.layers.items()}
    return Activations(layers, layers["hidden"], batch.decisions)


@pytest.mark.parametrize("name", sorted(TWINS))
@pytest.mark.parametrize(("seed", "by"), [(11, 0), (12, 0), (13, -0.5)])
def test_a_criterion_is_its_definition(name, seed, by):
    training, test = moved(TRAINING, by), moved(draw(60, seed, 1.3), by)
    criterion = fitted(name, training)
    criterion.update(test)
    assert criterion.value() == pytest.approx(TWINS[name](training, test))


def test_every_criterion_has_a_twin():
    assert set(NAMES) == set(TWINS)


def test_likelihood_surprise_is_the_density_that_scipy_estimates():
    rng = np.random.default_rng(0)

    def normal(count):
        values = rng.normal(size=(count, 4)).astype(np.float32)
        return Activations({}, values, rng.integers(0, 2, count))

    training, test = normal(150), normal(20)
    found = fitted("likelihood_surprise", training).surprise(test)
    for x, c, value in zip(test.subject, test.decisions, found, strict=True):
        mine = training.subject[training.decisions == c].astype(float)
        assert value == pytest.approx(-gaussian_kde(mine.T).logpdf(x.astype(float))[0], rel=1e-5)


@pytest.mark.parametrize("beyond", [0.0, -1.0])
def test_a_bound_below_every_surprise_is_rejected(beyond):
    low, _ = fitted("likelihood_surprise").bounds
    criterion = new("likelihood_surprise", upper=low + beyond)
    criterion.fit(TRAINING)
    with pytest.raises(UserError, match=r"surprise\.upper is .*above"):
        criterion.update(draw(5, 1))


@pytest.mark.parametrize("chunk", [7, 1000])
def test_the_density_at_an_own_point_is_that_under_all_others(monkeypatch, chunk):
    """With the bandwidth of all points, in plain loops."""
    monkeypatch.setattr(density, "CHUNK", chunk)
    values = np.random.default_rng(3).normal(size=(24, 3))
    rows = RowFile((3,), np.float64)
    rows.append(values)
    found = np.concatenate(list(density.DensityEstimate.fit(rows, 0.0).of_its_own_points()))
    for i, log_density in enumerate(found):
        others = np.delete(values, i, axis=0)
        assert log_density == pytest.approx(-_surprise(values[i], others, values))


def test_a_class_without_references_surprises_infinitely():
    training = Activations({}, TRAINING.subject, np.zeros(120, np.int64))
    test = Activations({}, draw(3, 1).subject, np.full(3, 2))
    for name in ("likelihood_surprise", "distance_surprise"):
        criterion = fitted(name, training)
        assert np.isinf(criterion.surprise(test)).all()
        criterion.update(test)
        assert criterion.value() == 0


def test_unscaled_neuron_coverage_compares_raw_activations():
    values = np.array([[0.1, 0.5]], np.float32)
    low = Activations({"a": values}, values, None)
    scaled, raw = (new("neuron_coverage", scaled=s) for s in (True, False))
    scaled.update(low)
    raw.update(low)
    assert (scaled.value(), raw.value()) == (0.5, 0.0)


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["x"], {}, "no criterion is called 'x'"),
        (["sign_sign"], {"x": {}}, "no criterion is called 'x'"),
        (["sign_sign"], {"sign_sign": {"k": 2}}, "options of sign_sign: unknown parameter k"),
        (["k_multisection"], {}, "options of k_multisection: the parameter sections is missing"),
        (  # the misspelt option is the one that is missing
            ["sign_sign"],
            {"neuron_coverage": {"threshhold": 0.5, "scaled": True}},
            "options of neuron_coverage: .*did you mean 'threshold'",
        ),
    ],
)
def test_wrong_options_are_one_line(names, options, message):
    with pytest.raises(UserError, match=message):
        build_criteria(CriteriaParams(names=names, layers=None, options=options))
