"""Clustering on a line against brute force and scikit-learn."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from asterism.deepimportance import clusters as module
from asterism.deepimportance.clusters import Histogram, cluster_values, fit_clusters, silhouette
from asterism.deepimportance.params import ClusterParams

NUMBERS = st.one_of(
    st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=11),
    # Differences of 1e-32 beside values of 1 are lost by prefix sums, and are no clusters.
    st.lists(st.floats(-100, 100).map(lambda v: round(v, 4)), min_size=1, max_size=11),
)


def counted(numbers):
    """Different values, ascending, and how often each occurs."""
    values, counts = np.unique(np.asarray(numbers, float), return_counts=True)
    return values, counts.astype(float)


def within(values, counts, borders):
    total = 0.0
    for start, end in itertools.pairwise(borders):
        group = np.repeat(values[start:end], counts[start:end].astype(int))
        total += ((group - group.mean()) ** 2).sum()
    return total


@given(NUMBERS)
def test_no_partition_is_better(numbers):
    values, counts = counted(numbers)
    for found in cluster_values(values, counts, 4):
        k = len(found.centroids)
        best = min(
            within(values, counts, [0, *cut, len(values)])
            for cut in itertools.combinations(range(1, len(values)), k - 1)
        )
        assert found.cost == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert within(values, counts, found.borders) == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert np.all(np.diff(found.borders) > 0)
    assert len(cluster_values(values, counts, 4)) == min(4, len(values))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_scikit_learn_is_never_better(k):
    numbers = np.round(np.random.default_rng(k).gamma(2, size=3000), 2)
    found = cluster_values(*counted(numbers), k)[-1]
    lloyd = KMeans(k, n_init=10, random_state=0).fit(numbers[:, None])
    assert found.cost <= lloyd.inertia_ * (1 + 1e-9)
    assert found.cost == pytest.approx(lloyd.inertia_, rel=0.02)


def test_large_offsets_lose_no_digits():
    values, counts = counted(np.random.default_rng(0).normal(size=500))
    near, far = (cluster_values(values + offset, counts, 4)[-1] for offset in (0, 1e7))
    np.testing.assert_array_equal(near.borders, far.borders)


def slow_silhouette(numbers, labels):
    """From its definition: all distances, one value at a time (Rousseeuw 1987)."""
    scores = []
    for i, (value, label) in enumerate(zip(numbers, labels, strict=True)):
        distances = np.abs(numbers - value)
        mine = labels == label
        mine[i] = False
        if not mine.any():
            scores.append(0.0)
            continue
        own = distances[mine].mean()
        other = min(distances[labels == k].mean() for k in set(labels) - {label})
        scores.append((other - own) / max(own, other) if max(own, other) > 0 else 0.0)
    return np.mean(scores)


@given(NUMBERS, st.data())
def test_the_silhouette_is_its_definition_also_of_single_values(numbers, data):
    """Of any partition into intervals, up to a cluster for each value."""
    values, counts = counted(numbers)
    assume(len(values) > 1)
    k = data.draw(st.integers(2, len(values)))
    cuts = data.draw(st.permutations(range(1, len(values))))[: k - 1]
    borders = np.array([0, *sorted(cuts), len(values)])
    labels = np.repeat(np.repeat(np.arange(k), np.diff(borders)), counts.astype(int))
    expected = slow_silhouette(np.sort(numbers), labels)
    assert silhouette(values, counts, borders) == pytest.approx(expected, abs=1e-6)


def test_a_silhouette_needs_two_clusters():
    with pytest.raises(ValueError, match="two clusters"):
        silhouette(np.arange(3.0), np.ones(3), np.array([0, 3]))


def params(**changes):
    defaults = {
        "k_min": 2,
        "k_max": 4,
        "min_values": 10,
        "leave_out_zeros": False,
        "decimals": None,
    }
    return ClusterParams(**defaults | changes)


def column(*groups):
    return np.concatenate(groups).astype(np.float32)


def fit_one(values, settings, *, dense):
    histogram = Histogram()
    histogram.add(values)
    return fit_clusters([histogram], settings, dense=dense)[0]


def test_zeros_are_left_out_of_more_values_than_are_told_apart(monkeypatch):
    monkeypatch.setattr(module, "CELLS", 8)
    values = column(np.zeros(500), np.linspace(0.001, 1, 50), np.linspace(9, 10, 50))
    found = fit_one(values, params(leave_out_zeros=True, k_max=2), dense=True)
    assert found.centroids == pytest.approx([0.5, 9.5], abs=0.01)


@pytest.mark.parametrize("changes", [{"k_min": 5}, {"k_max": 257}])
def test_impossible_numbers_of_clusters_are_rejected(changes):
    with pytest.raises(ValueError, match="k_m"):
        params(**changes)


def test_as_many_clusters_as_a_byte_tells_apart():
    values = column(np.arange(300))
    found = fit_one(values, params(k_min=256, k_max=256), dense=True)
    assert len(found.centroids) == 256
    assert found.assign(values).max() == 255


def test_the_silhouette_chooses_the_number_of_clusters():
    rng = np.random.default_rng(0)
    three = column(*(rng.normal(c, 0.1, 50) for c in (0, 5, 10)))
    found = fit_one(three, params(), dense=True)
    assert found.centroids == pytest.approx([0, 5, 10], abs=0.1)
    assert found.silhouette > 0.9


def test_zeros_count_only_when_they_should():
    values = column(np.zeros(80), np.full(20, 1.0), np.full(20, 3.0))
    kept = fit_one(values, params(), dense=True)
    left = fit_one(values, params(leave_out_zeros=True), dense=True)
    maps = fit_one(values, params(leave_out_zeros=True), dense=False)
    assert kept.centroids == pytest.approx([0, 1, 3])
    assert left.centroids == pytest.approx([1, 3])
    assert maps.centroids == pytest.approx(kept.centroids)


@pytest.mark.parametrize("values", [column(np.zeros(50)), column(np.arange(9.0))])
def test_constant_and_rare_neurons_get_one_cluster(values):
    found = fit_one(values, params(), dense=True)
    assert len(found.centroids) == 1
    assert set(found.assign(values)) == {0}


def test_rounding_may_merge_centroids():
    values = column(np.full(20, 0.001), np.full(20, 0.002))
    assert len(fit_one(values, params(), dense=True).centroids) == 2
    assert len(fit_one(values, params(decimals=2), dense=True).centroids) == 1


@given(st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=20))
@settings(deadline=None)
def test_assignment_is_to_the_nearest_centroid(numbers):
    rng = np.random.default_rng(0)
    found = fit_one(column(*(rng.normal(c, 1, 20) for c in (-8, 0, 7))), params(), dense=True)
    values = np.array(numbers, np.float32)
    for value, chosen in zip(values, found.assign(values), strict=True):
        distances = np.abs(found.centroids - value)
        assert distances[chosen] == pytest.approx(distances.min(), abs=1e-6)
