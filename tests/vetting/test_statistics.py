"""Shares with exact intervals, divergences and margins, by slow twins."""

from math import comb, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.core.files.records import record_as_json
from asterism.core.statistics import compute_share, kl_divergence, label_margins, quantiles

RNG = np.random.default_rng(0)


def chance_of_at_most(count, total, share):
    return sum(comb(total, k) * share**k * (1 - share) ** (total - k) for k in range(count + 1))


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_ends_where_the_counts_tail_is_half_of_what_is_left(counts):
    count, total = counts
    found = compute_share(count, total, 0.95)
    assert found.share == count / total and found.low <= found.share <= found.high
    if count < total:
        assert chance_of_at_most(count, total, found.high) == pytest.approx(0.025, abs=1e-6)
    if count:
        above = 1 - chance_of_at_most(count - 1, total, found.low)
        assert above == pytest.approx(0.025, abs=1e-6)
    other = compute_share(total - count, total, 0.95)
    assert record_as_json(found.rest) == pytest.approx(record_as_json(other), abs=1e-9)


def test_of_nothing_nothing_is_known():
    found = compute_share(0, 0, 0.95)
    assert record_as_json(found) == {"count": 0, "total": 0, "share": 0.0, "low": 0.0, "high": 1.0}


def test_divergence_and_margins_are_those_of_the_formulas():
    f, g = (RNG.dirichlet(np.ones(4), 20).astype(np.float32) for _ in range(2))
    twin = [
        sum(p * log(p / q) for p, q in zip(a, b, strict=True)) for a, b in zip(f, g, strict=True)
    ]
    assert kl_divergence(f, g) == pytest.approx(twin, abs=1e-5)
    assert kl_divergence(f, f) == pytest.approx(0, abs=1e-12)
    assert np.isfinite(kl_divergence(f, np.eye(4, dtype=np.float32)[[0] * 20])).all()
    labels = RNG.integers(0, 4, 20)
    twin = [row[k] - max(np.delete(row, k)) for row, k in zip(f, labels, strict=True)]
    assert label_margins(f, labels) == pytest.approx(twin)


def test_quantiles_of_nothing_are_none():
    assert quantiles(np.array([])) == {}
    assert quantiles(np.arange(101.0)) == {"median": 50, "p90": 90, "p99": 99, "largest": 100}
