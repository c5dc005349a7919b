"""What is to be judged where inputs or weights are NaN, infinite or all but too large.

The float64 model also runs twice with finite numbers in place of the special ones. What these two
probes say together with the reference tells whether arithmetic decides an element:

- NaN decides what depends on it: there, it must come out. A number that the reference has there
  comes from a rule beyond arithmetic, such as where NaN lies in an order. That is open.
- An infinity decides what the numbers tend to as it is replaced by ever larger ones. Elsewhere the
  order of summation, and whether a term with the factor zero is left out, decide: that is open.
- Of the largest numbers only what stays the same for smaller ones is decided: sums overflow or not
  by their order.

A difference in what is open is "special value handling". It is counted, and is no wrong result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class FiniteProbes:
    """The runs with finite numbers in place of the special ones.

    Args:
        kinds: those of :data:`~asterism.differential.reference.runs.PROBED` that occur.
            What is judged of an element all of them must decide.
        high: outputs of the one run.
        low: outputs of the other.
        by_letter: whether a definition says itself what comes of NaN, be it a number.
    """

    kinds: tuple[str, ...]
    high: Sequence[Array]
    low: Sequence[Array]
    by_letter: bool = False

    def is_open(
        self, at: int, expected: Array, allowed: Array, actual: Array | None = None
    ) -> Mask:
        """The elements of an output for which nothing decides what is right.

        Args:
            at: number of the output.
            expected: the reference's.
            allowed: what each element may be off.
            actual: what is judged; None for what is open whatever came.
        """
        if at >= len(self.high) or not (
            self.high[at].shape == self.low[at].shape == expected.shape
        ):
            return np.zeros(expected.shape, np.bool_)
        high, low = _numbers(self.high[at]), _numbers(self.low[at])
        right = _numbers(expected)
        with np.errstate(all="ignore"):
            same = _is_near(high, right, allowed) & _is_near(low, right, allowed)
            decided = np.ones(expected.shape, np.bool_)
            if "nan" in self.kinds:
                depends = (high != low) | np.isnan(high)
                by_nan = np.where(np.isnan(right), depends, same & (high == low))
                decided &= (by_nan | ~np.isnan(right)) if self.by_letter else by_nan
            if "infinity" in self.kinds:
                signs = (np.sign(high) == np.sign(right)) & (np.sign(low) == np.sign(right))
                grows = signs & ((np.abs(high) > np.abs(low)) | np.isinf(low))
                decided &= np.where(np.isinf(right), grows, same)
                if actual is not None and actual.shape == right.shape:
                    # An infinity less another one, or times zero, on the way to it.
                    decided &= ~(np.isinf(right) & np.isnan(_numbers(actual)))
            if "largest" in self.kinds:
                decided &= same
        found: Mask = ~decided
        return found


def _numbers(array: Array) -> NDArray[np.float64]:
    return array.astype(np.float64)


def _is_near(probe: Array, right: Array, allowed: Array) -> Mask:
    """Where a probe gives what the reference gives, NaN and infinities too."""
    same = (probe == right) | (np.isnan(probe) & np.isnan(right))
    found: Mask = same | (np.abs(probe - right) <= allowed)
    return found
