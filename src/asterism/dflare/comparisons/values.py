"""Plain tensors: values that differ by more than a tolerance."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import COMPARISONS, Comparison, Floats, Outputs


class ToleranceOptions(ParameterSection):
    """Differences that are no deviation."""

    absolute: float = Field(default=0.001, gt=0, description="absolute tolerance")
    relative: float = Field(
        default=0.05, ge=0, description="tolerance as a share of the original's value"
    )


class NumberComparison(Comparison):
    """Numbers: each difference is measured in a unit of its own."""

    several = True

    @abstractmethod
    def parts(self, f: Outputs, g: Outputs) -> NDArray[np.float64]:
        """The absolute difference of each number in its unit, ``(N, K)``."""

    def apart(self, f: Outputs, g: Outputs) -> Floats:
        """The largest difference in its unit."""
        largest: Floats = self.parts(f, g).max(axis=1).astype(np.float32)
        return largest

    def undecided(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """The distance: numbers are never undecided."""
        return self.apart(f, g)


@COMPARISONS.register("tolerance")
class ValueTolerance(NumberComparison):
    """Values: the models deviate where one differs by more than its tolerance, which is the unit.

    Args:
        options: see :class:`ToleranceOptions`.
        shape: of the outputs; all of a row are values.
    """

    Options = ToleranceOptions

    def differs(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.differs`."""
        above: NDArray[np.bool_] = self.parts(f, g).max(axis=1) > 1
        return above

    def parts(self, f: Outputs, g: Outputs) -> NDArray[np.float64]:
        """See :meth:`.NumberComparison.parts`."""
        exact = f.astype(np.float64)
        tolerance = self.options.absolute + self.options.relative * np.abs(exact)
        parts: NDArray[np.float64] = np.abs(exact - g) / tolerance
        return parts
