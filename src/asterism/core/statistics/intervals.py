"""Exact confidence intervals of shares."""

from __future__ import annotations


def exact_interval(count: int, total: int, confidence: float) -> tuple[float, float]:
    """Both ends of a share's interval: in repeated samples it holds the truth that often or more.

    Clopper and Pearson, Biometrika 26 (1934).

    Args:
        count: of the total, those that count.
        total: in all; of none the interval is all of [0, 1].
        confidence: of both sides together, 0.95 for instance.
    """
    from scipy.stats import binomtest

    if not total:
        return 0.0, 1.0
    found = binomtest(count, total).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)
