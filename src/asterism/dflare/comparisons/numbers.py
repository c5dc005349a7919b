"""Numbers that differ by more than a tolerance, or than a share of the original's spread."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import (
    COMPARISONS,
    AgreementFigure,
    Comparison,
    Floats,
    Outputs,
    replace_nonfinite,
)


class NumberComparison(Comparison):
    """Compares numbers, each difference measured in a unit of its own."""

    several = True

    @abstractmethod
    def parts(self, f: Outputs, g: Outputs) -> NDArray[np.float64]:
        """The absolute difference of each number in its unit, ``(N, K)``."""

    def distance_finite(self, f: Outputs, g: Outputs) -> Floats:
        """The largest difference, measured in its unit."""
        largest: Floats = self.parts(f, g).max(axis=1).astype(np.float32)
        return largest


@COMPARISONS.register("tolerance")
class ToleranceComparison(NumberComparison):
    """Compares values: models deviate if one differs by more than its tolerance, its unit.

    Args:
        options: see :class:`ToleranceComparison.Options`.
        shape: the shape of the outputs; all of a row are values.
    """

    class Options(ParameterSection):
        """Differences up to which models do not deviate."""

        absolute: float = Field(default=0.001, gt=0, description="absolute tolerance")
        relative: float = Field(
            default=0.05, ge=0, description="tolerance as a share of the original's value"
        )

    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.deviates_finite`."""
        above: NDArray[np.bool_] = self.parts(f, g).max(axis=1) > 1
        return above

    def parts(self, f: Outputs, g: Outputs) -> NDArray[np.float64]:
        """See :meth:`.NumberComparison.parts`."""
        exact = f.astype(np.float64)
        tolerance = self.options.absolute + self.options.relative * np.abs(exact)
        parts: NDArray[np.float64] = np.abs(exact - g) / tolerance
        return parts


#: Percentiles between which the answers to most inputs lie.
_ENDS = (1, 99)
#: The smallest spread, as a share of the largest value: rounding of float32.
_LEAST = 1e-5


@COMPARISONS.register("regression")
class RegressionComparison(NumberComparison):
    """Compares numbers: models deviate if one differs by more than a share of its spread.

    The spread is that of the original's answers to the given inputs, from the first to the last
    percentile. Before answers are known it is 1.

    Args:
        options: see :class:`RegressionComparison.Options`.
        shape: the shape of the outputs; all of a row are numbers.
    """

    class Options(ParameterSection):
        """When differences of numbers count as deviations."""

        tolerance: float = Field(
            default=0.05,
            gt=0,
            description="difference that is none, as a share of the spread of the "
            "original's answers",
        )
        common: bool = Field(
            default=False,
            description="all numbers of an output have one spread, as the pixels of a picture "
            "have; else each has its own",
        )
        share: float = Field(
            default=0.0,
            ge=0,
            lt=1,
            description="share of an output's numbers that may be farther off",
        )

    def __init__(self, options: Options, shape: tuple[int, ...]) -> None:
        super().__init__(options, shape)
        self._spread: NDArray[np.float64] = np.ones(1)

    def calibrate(self, f: Outputs, g: Outputs) -> None:
        """Learn spreads from the original's answers to all given inputs, ``(M, K)``."""
        known = replace_nonfinite(f, g)[0][np.isfinite(f).all(axis=1)].astype(np.float64)
        if not known.size:
            return
        low, high = np.percentile(known, _ENDS, axis=None if self.options.common else 0)
        largest = np.abs(known).max() if self.options.common else np.abs(known).max(axis=0)
        self._spread = np.maximum(
            high - low, np.maximum(_LEAST * largest, np.finfo(np.float32).tiny)
        )

    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.deviates_finite`."""
        far = self.parts(f, g) > self.options.tolerance
        above: NDArray[np.bool_] = far.sum(axis=1) > self.options.share * far.shape[1]
        return above

    def figures(self, f: Outputs, g: Outputs) -> tuple[AgreementFigure, ...]:
        """See :meth:`.Comparison.figures`."""
        parts = self.parts(f, g)
        return (
            AgreementFigure("mean absolute difference", float(np.abs(f.astype(float) - g).mean())),
            AgreementFigure(
                "the same, as a share of the original's spread", float(parts.mean()), True
            ),
            AgreementFigure(
                "the largest, as a share of the original's spread", float(parts.max()), True
            ),
        )

    def parts(self, f: Outputs, g: Outputs) -> NDArray[np.float64]:
        """See :meth:`.NumberComparison.parts`; the unit is the spread."""
        parts: NDArray[np.float64] = np.abs(f.astype(np.float64) - g) / self._spread
        return parts
