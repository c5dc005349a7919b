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
    # Imported here, and not the tests of scipy.stats, because that takes half a second.
    from scipy.special import betaincinv

    beyond = (1 - confidence) / 2
    low = betaincinv(count, total - count + 1, beyond) if count else 0.0
    high = betaincinv(count + 1, total - count, 1 - beyond) if count < total else 1.0
    return float(low), float(high)
