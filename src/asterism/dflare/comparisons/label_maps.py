"""Label maps, as of segmentation: which class each place of a picture has."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.dflare.comparisons import COMPARISONS, AgreementFigure, Comparison, Floats, Outputs

Labels = NDArray[np.int64]


@COMPARISONS.register("label_map")
class LabelMapComparison(Comparison):
    """Compares maps of labels: models deviate if more than a share of places differ.

    Args:
        options: see :class:`LabelMapComparison.Options`.
        shape: of an output, ``(C, H, W)`` with ``axis`` 0 for instance; ``()`` is one label.
    """

    class Options(ParameterSection):
        """How labels are read from outputs, and how many may differ."""

        axis: int | None = Field(
            default=0,
            description="the axis of an output that holds a score for each class; null: each place "
            "holds its label, or by a threshold whether something is there",
        )
        threshold: float | None = Field(
            default=None, description="without an axis: the score from which something is there"
        )
        share: float = Field(
            default=0.01, ge=0, lt=1, description="share of a map's places that may differ"
        )

    def __init__(self, options: Options, shape: tuple[int, ...]) -> None:
        super().__init__(options, shape)
        axis = options.axis
        if axis is not None and not -len(shape) <= axis < len(shape):
            raise UserError(
                f"comparison label_map has the axis {axis} of classes, but outputs are {shape}"
            )
        self._axis = None if axis is None else axis % len(shape) + 1
        self._places = math.prod(shape) // (1 if axis is None else shape[axis])

    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`.Comparison.deviates_finite`."""
        above: NDArray[np.bool_] = self._shares(f, g) > self.options.share
        return above

    def distance_finite(self, f: Outputs, g: Outputs) -> Floats:
        """The mean over places of half the sum of the scores' differences; at least the share.

        Without an axis it is the mean difference of the values.
        """
        differences = np.abs(self.unfolded(f) - self.unfolded(g))
        if self._axis is not None:
            differences = differences.sum(axis=self._axis) / 2
        mean = differences.reshape(len(f), self._places).mean(axis=1, dtype=np.float32)
        apart: Floats = np.maximum(mean, self._shares(f, g).astype(np.float32))
        return apart

    def classes(self, outputs: Outputs) -> NDArray[np.int64] | None:
        """The label, if the output is a single one."""
        return self.labels(outputs)[:, 0] if self._axis is None and self._places == 1 else None

    def figures(self, f: Outputs, g: Outputs) -> tuple[AgreementFigure, ...]:
        """Share of differing places in all, and intersection over union of each class, of maps."""
        if self._places == 1:
            return ()
        ours, theirs = self.labels(f), self.labels(g)
        found = [AgreementFigure("places with another label", float((ours != theirs).mean()), True)]
        worst = (ours != theirs).mean(axis=1).max()
        found.append(AgreementFigure("the same, in the worst input", float(worst), True))
        for label in np.unique(ours)[:_MOST_CLASSES].tolist():
            one, other = ours == label, theirs == label
            name = f"intersection over union of class {label}"
            found.append(
                AgreementFigure(name, float((one & other).sum() / (one | other).sum()), True)
            )
        return tuple(found)

    def labels(self, outputs: Outputs) -> Labels:
        """The label of each place, int64 ``(N, P)``."""
        maps = self.unfolded(outputs)
        if self._axis is not None:
            found = maps.argmax(axis=self._axis)
        elif self.options.threshold is not None:
            found = maps >= self.options.threshold
        else:
            found = np.rint(maps)
        labels: Labels = found.reshape(len(outputs), self._places).astype(np.int64)
        return labels

    def _shares(self, f: Outputs, g: Outputs) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = (self.labels(f) != self.labels(g)).mean(axis=1)
        return shares


#: Classes whose intersection over union is a figure of its own.
_MOST_CLASSES = 30
