"""Several outputs: each compared in its own way, then all together."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.validation import Label
from asterism.dflare.comparisons import (
    COMPARISONS,
    AgreementFigure,
    Comparison,
    Floats,
    Outputs,
    ProbabilisticComparison,
    build_comparison,
)
from asterism.dflare.params import ComparisonParams


class CombinedOutput(ParameterSection):
    """One of several outputs."""

    output: str = Field(description="the output's name, for reports")
    shape: list[int] = Field(description="of the output of one input")
    kind: str = Field(description="how it is compared: another comparison's name")
    options: dict[Label, Any] = Field(default={}, description="that comparison's options")


@COMPARISONS.register("together")
class CombinedComparison(Comparison):
    """Compares several outputs: models deviate if any of the outputs does.

    Args:
        options: see :class:`CombinedComparison.Options`.
        shape: the shape of a row, which holds one output after the other.
    """

    class Options(ParameterSection):
        """The outputs, in the order in which a row holds them."""

        outputs: list[CombinedOutput] = Field(
            min_length=1, description="each output and how it is compared"
        )

    several = True

    def __init__(self, options: Options, shape: tuple[int, ...]) -> None:
        super().__init__(options, shape)
        sizes = [math.prod(part.shape) for part in options.outputs]
        if sum(sizes) != math.prod(shape):
            raise UserError(
                f"comparison together has outputs of {sum(sizes)} numbers, but a row of the "
                f"models' outputs has {math.prod(shape)}"
            )
        ends = np.cumsum(sizes).tolist()
        self._places = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        self.parts = [
            build_comparison(
                ComparisonParams(kind=part.kind, options=part.options), tuple(part.shape)
            )
            for part in options.outputs
        ]

    def calibrate(self, f: Outputs, g: Outputs) -> None:
        """See :meth:`.Comparison.calibrate`."""
        for part, place in self._pairs():
            part.calibrate(f[:, place], g[:, place])

    def each(self, f: Outputs, g: Outputs) -> list[NDArray[np.bool_]]:
        """For each output alone whether inputs deviate, bool ``(N,)`` each."""
        return [part.deviates(f[:, place], g[:, place]) for part, place in self._pairs()]

    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.deviates_finite`."""
        any_of: NDArray[np.bool_] = np.any(self.each(f, g), axis=0)
        return any_of

    def distance_finite(self, f: Outputs, g: Outputs) -> Floats:
        """The largest distance of an output."""
        return self._largest([p.distance(f[:, s], g[:, s]) for p, s in self._pairs()])

    def uncertainty_finite(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """The largest uncertainty of an output."""
        return self._largest([p.uncertainty(f[:, s], g[:, s], k) for p, s in self._pairs()])

    def classes(self, outputs: Outputs) -> NDArray[np.int64] | None:
        """The class that the only output with classes answers; None if not exactly one has some.

        A label beside scores of classes is told by these scores too.
        """
        told = [(part, part.classes(outputs[:, place])) for part, place in self._pairs()]
        known = [classes for _, classes in told if classes is not None]
        scored = [
            classes
            for part, classes in told
            if classes is not None and isinstance(part, ProbabilisticComparison)
        ]
        return next((found[0] for found in (scored, known) if len(found) == 1), None)

    def figures(self, f: Outputs, g: Outputs) -> tuple[AgreementFigure, ...]:
        """Each output's share of deviating inputs, and its own figures, under its name."""
        found = []
        for named, part, place, deviating in zip(
            self.options.outputs, self.parts, self._places, self.each(f, g), strict=True
        ):
            found.append(
                AgreementFigure(
                    f"{named.output}: inputs that differ", float(deviating.mean()), True
                )
            )
            own = part.figures(f[:, place], g[:, place])
            found += [replace(figure, name=f"{named.output}: {figure.name}") for figure in own]
        return tuple(found)

    def _pairs(self) -> list[tuple[Comparison, slice]]:
        return list(zip(self.parts, self._places, strict=True))

    @staticmethod
    def _largest(values: list[Floats]) -> Floats:
        largest: Floats = np.max(values, axis=0)
        return largest
