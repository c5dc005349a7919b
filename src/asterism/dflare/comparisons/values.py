"""Plain tensors: values that differ by more than a tolerance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import COMPARISONS, ChosenComparison, Floats, Outputs


class ToleranceOptions(ParameterSection):
    """Differences that are no deviation."""

    absolute: float = Field(default=0.001, gt=0, description="absolute tolerance")
    relative: float = Field(
        default=0.05, ge=0, description="tolerance as a share of the original's value"
    )


@COMPARISONS.register("tolerance")
class Tolerance(ChosenComparison):
    """Values: the models deviate where one differs by more than its tolerance.

    Args:
        options: see :class:`ToleranceOptions`.
        shape: of the outputs; all of a row are values.
    """

    Options = ToleranceOptions
    several = True

    def differs(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.ChosenComparison.differs`."""
        above: NDArray[np.bool_] = self._parts(f, g).max(axis=1) > 1
        return above

    def apart(self, f: Outputs, g: Outputs) -> Floats:
        """The largest difference in units of its tolerance."""
        largest: Floats = self._parts(f, g).max(axis=1).astype(np.float32)
        return largest

    def undecided(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """The distance: values are never undecided."""
        return self.apart(f, g)

    def _parts(self, f: Outputs, g: Outputs) -> NDArray[np.float64]:
        exact = f.astype(np.float64)
        tolerance = self.options.absolute + self.options.relative * np.abs(exact)
        parts: NDArray[np.float64] = np.abs(exact - g) / tolerance
        return parts
