"""Exact confidence intervals of shares, and comparisons of two rows of probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def exact_interval(count: int, total: int, confidence: float) -> tuple[float, float]:
    """The Clopper-Pearson interval of a proportion; its coverage is at least ``confidence``.

    Clopper and Pearson, Biometrika 26 (1934).

    Args:
        count: successes.
        total: trials; of none the interval is all of [0, 1].
        confidence: of both sides together, 0.95 for instance.
    """
    # Imported here, and not the tests of scipy.stats, because that takes half a second.
    from scipy.special import betaincinv

    beyond = (1 - confidence) / 2
    low = betaincinv(count, total - count + 1, beyond) if count else 0.0
    high = betaincinv(count + 1, total - count, 1 - beyond) if count < total else 1.0
    return float(low), float(high)


#: Probabilities below this count as this, so that logarithms stay finite.
_SMALLEST = 1e-12


@dataclass(frozen=True)
class Share:
    """A share of inputs, with the interval of Clopper and Pearson (1934).

    Attributes:
        count: inputs that count.
        total: all inputs.
        share: ``count / total``; 0 of nothing.
        low: the interval's lower end.
        high: its upper end.
    """

    count: int
    total: int
    share: float
    low: float
    high: float

    @property
    def rest(self) -> Share:
        """The share of all other inputs."""
        return Share(
            self.total - self.count, self.total, 1 - self.share, 1 - self.high, 1 - self.low
        )


@lru_cache(100_000)  # the ends of an interval take a millisecond
def compute_share(count: int, total: int, confidence: float) -> Share:
    """A share with its Clopper-Pearson interval; see :func:`exact_interval`.

    Args:
        count: inputs that count.
        total: inputs in all; of none the interval is all of [0, 1].
        confidence: of both sides together, 0.95 for instance.
    """
    low, high = exact_interval(count, total, confidence)
    return Share(count, total, count / total if total else 0.0, low, high)


def kl_divergence(f: NDArray[np.float32], g: NDArray[np.float32]) -> Floats:
    """The Kullback–Leibler divergence of g from f, in nats, float64 ``(N,)``.

    Args:
        f: probabilities of the original, ``(N, K)``.
        g: those of the compressed model.
    """
    p, q = (np.maximum(np.asarray(rows, np.float64), _SMALLEST) for rows in (f, g))
    p, q = (rows / rows.sum(axis=1, keepdims=True) for rows in (p, q))
    return np.asarray((p * np.log(p / q)).sum(axis=1))


def label_margins(rows: NDArray[np.float32], labels: NDArray[np.int64]) -> Floats:
    """How far a label's probability lies above the best of all others, float64 ``(N,)``.

    Args:
        rows: probabilities ``(N, K)``.
        labels: one for each row.
    """
    values = np.asarray(rows, np.float64)
    own = np.take_along_axis(values, labels[:, np.newaxis], axis=1)[:, 0]
    others = values.copy()
    np.put_along_axis(others, labels[:, np.newaxis], -np.inf, axis=1)
    return np.asarray(own - others.max(axis=1))


def quantiles(values: Floats) -> dict[str, float]:
    """Median, 90th, 99th percentile and the largest, by name; empty of no values."""
    if not len(values):
        return {}
    points = {"median": 50, "p90": 90, "p99": 99, "largest": 100}
    return {name: float(np.percentile(values, at)) for name, at in points.items()}
