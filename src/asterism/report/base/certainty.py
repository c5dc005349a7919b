"""How sure a share is: its exact interval, in words."""

from __future__ import annotations

from asterism.core.messages.counting import counted
from asterism.core.statistics.intervals import exact_interval
from asterism.report.base.templating import percent

#: Of both sides of an interval together.
CONFIDENCE = 0.95

#: How the page says which intervals it shows.
INTERVALS = "Intervals hold with 95% confidence (Clopper and Pearson)."


def bounds(count: int, total: int) -> tuple[float, float]:
    """Ends of the interval of a share; all of [0, 1] where counts contradict each other."""
    return exact_interval(count, total, CONFIDENCE) if 0 <= count <= total else (0.0, 1.0)


def of_share(count: int, total: int, noun: str, plural: str = "") -> str:
    """``96.0% to 99.2%, 360 images``."""
    low, high = bounds(count, total)
    return f"{percent(low)} to {percent(high)}, {counted(total, noun, plural)}"


def listed(names: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def quoted(names: list[str]) -> str:
    """Names that the user chose: ``“a” and “b”``."""
    return listed([f"“{name}”" for name in names])


def points(difference: float) -> str:
    """A difference of shares in points with its sign: ``+0.3`` or ``-1.2``."""
    return f"{100 * difference:+.1f}"
