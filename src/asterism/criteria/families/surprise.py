"""Surprise adequacy: how unlike the training inputs an input is (Kim et al., ICSE 2019)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.criteria.density import CHUNK, DensityEstimate, find_nearest_point
from asterism.criteria.families import ACTIVATION_CRITERIA, Activations, ChosenCriterion
from asterism.criteria.row_file import RowFile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SurpriseOptions(ParameterSection):
    """What all surprise coverage is counted in."""

    buckets: int = Field(ge=1, description="buckets of the range of surprise")


class SurpriseCoverage(ChosenCriterion):
    """Share of the buckets of a range of surprise that inputs fall into.

    The training inputs' activations of the subject layer lie on disk, by decision, and are read
    piece by piece.
    """

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.covered: NDArray[np.bool_] = np.zeros(options.buckets, np.bool_)
        self._traces: dict[int, RowFile] = {}
        self._ready = False

    def fit(self, training: Activations) -> None:
        """Keep a batch's activations and decisions."""
        for group, traces in _by_decision(training):
            file = self._traces.setdefault(group, RowFile(traces.shape[1:], np.float32))
            file.append(traces)
        self._ready = False

    def update(self, batch: Activations) -> None:
        """See :meth:`Criterion.update`."""
        surprise = self.surprise(batch)
        low, high = self.bounds
        counted = surprise[(surprise >= low) & (surprise <= high)]
        buckets = ((counted - low) / (high - low) * self.options.buckets).astype(np.int64)
        self.covered[np.minimum(buckets, self.options.buckets - 1)] = True

    def value(self) -> float:
        """Share of the buckets, in [0, 1]."""
        return float(self.covered.mean())

    def surprise(self, batch: Activations) -> Floats:
        """Surprise of each input, ``(N,)``; infinite where its class has too few references."""
        self._prepare()
        result = np.full(len(batch), np.inf)
        groups = _decisions(batch)
        for group, traces in _by_decision(batch):
            result[groups == group] = self._surprise(traces.astype(np.float64), group)
        return result

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest surprise that counts."""
        self._prepare()
        return self._bounds()

    def _prepare(self) -> None:
        if not self._ready:
            self._learn()
            self._ready = True

    @abstractmethod
    def _learn(self) -> None:
        """Prepare for questions, from all training activations."""

    @abstractmethod
    def _surprise(self, traces: Floats, group: int) -> Floats:
        """Surprise of inputs ``(N, neurons)`` of one decision; infinite where it is unknown."""

    @abstractmethod
    def _bounds(self) -> tuple[float, float]: ...


@ACTIVATION_CRITERIA.register("likelihood_surprise")
class LikelihoodSurpriseCoverage(SurpriseCoverage):
    """LSC: surprise is minus the log density under the training inputs of the same decision.

    A Gaussian kernel density estimate with Scott's bandwidth; for a regressor one for all inputs.
    """

    class Options(SurpriseOptions):
        """Which surprise counts, and which neurons."""

        upper: float | None = Field(
            description="largest surprise that counts, above the training inputs' smallest; null: "
            "as far beyond their largest as that is from their smallest"
        )
        min_variance: float = Field(
            ge=0, description="neurons that vary less over a class are left out of its density"
        )

    def _learn(self) -> None:
        self._densities: dict[int, DensityEstimate] = {}
        low, high = np.inf, -np.inf
        for group in sorted(self._traces):
            density = DensityEstimate.fit(self._traces[group], self.options.min_variance)
            if density is not None:
                self._densities[group] = density
                for known in density.of_its_own_points():
                    low, high = min(low, float(-known.max())), max(high, float(-known.min()))
        if not self._densities:
            low = high = 0.0
        given = self.options.upper
        if given is not None and given <= low:
            raise UserError(
                f"criteria.options.likelihood_surprise.upper is {given}, but no training input's "
                f"surprise is below {low:.4g}: it has to be above that"
            )
        self._range = (low, given if given is not None else high + max(high - low, 1e-9))

    def _surprise(self, traces: Floats, group: int) -> Floats:
        if group not in self._densities:
            return np.full(len(traces), np.inf)
        return -self._densities[group].log_density(traces)

    def _bounds(self) -> tuple[float, float]:
        return self._range


@ACTIVATION_CRITERIA.register("distance_surprise")
class DistanceSurpriseCoverage(SurpriseCoverage):
    """DSC: surprise is the distance to the own class over that class's distance to the others.

    ``DSA = |x - a| / |a - b|`` with ``a`` the nearest training input of the same decision and
    ``b`` the one nearest to ``a`` among the other decisions.
    """

    class Options(SurpriseOptions):
        """Which surprise counts."""

        upper: float = Field(gt=0, description="largest surprise that counts")

    needs_classes = True

    def _learn(self) -> None:
        #: |a - b| of training inputs, worked out when they are first met.
        self._to_others = {group: _unknown(len(traces)) for group, traces in self._traces.items()}

    def _surprise(self, traces: Floats, group: int) -> Floats:
        others = [file for other, file in sorted(self._traces.items()) if other != group]
        if group not in self._traces or not others:
            return np.full(len(traces), np.inf)
        near, distance = find_nearest_point(traces, [self._traces[group]])
        apart = self._distances_to_others(group, near, others)
        endless = np.full(len(traces), np.inf)
        surprise: Floats = np.divide(distance, apart, out=endless, where=apart > 0)
        return surprise

    def _distances_to_others(self, group: int, near: Ints, others: list[RowFile]) -> Floats:
        known = self._to_others[group]
        new = np.unique(near[np.isnan(known[near])])
        for start in range(0, len(new), CHUNK):
            rows = new[start : start + CHUNK]
            points = self._traces[group].mapped()[rows]
            known[rows] = find_nearest_point(points.astype(np.float64), others)[1]
        return np.asarray(known[near])

    def _bounds(self) -> tuple[float, float]:
        return 0.0, self.options.upper


def _unknown(count: int) -> NDArray[Any]:
    """A column of NaN on disk."""
    file = RowFile((), np.float64)
    for start in range(0, count, CHUNK):
        file.append(np.full(min(CHUNK, count - start), np.nan))
    return file.mapped()


def _decisions(batch: Activations) -> Ints:
    """Winning classes; 0 for all inputs of a regressor."""
    return np.zeros(len(batch), np.int64) if batch.decisions is None else batch.decisions


def _by_decision(batch: Activations) -> list[tuple[int, NDArray[np.float32]]]:
    """The subject layer's activations of each decision's inputs, in the batch's order."""
    groups, traces = _decisions(batch), batch.subject
    return [(int(group), traces[groups == group]) for group in np.unique(groups)]
