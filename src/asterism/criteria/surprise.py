"""Surprise adequacy: how unlike the training inputs an input is (Kim et al., ICSE 2019)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from asterism.criteria.criterion import CRITERIA, Activations, Criterion
from asterism.criteria.params import CriteriaParams

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Rows of a distance matrix that are held at once.
_ROWS = 1024
#: Directions in which a class varies less than this share of its main one carry no density.
_FLAT = 1e-10


class SurpriseCoverage(Criterion):
    """Share of the buckets of a range of surprise that inputs fall into.

    Keeps the training inputs' activations of the subject layer; memory grows with their number
    and not with that of the inputs judged.
    """

    def __init__(self, params: CriteriaParams) -> None:
        super().__init__(params)
        self.covered: NDArray[np.bool_] = np.zeros(params.surprise_buckets, np.bool_)
        self._parts: list[tuple[Floats, Ints]] = []
        self._ready = False

    def fit(self, training: Activations) -> None:
        """Keep a batch's activations and decisions."""
        self._parts.append(_subject(training))
        self._ready = False

    def update(self, batch: Activations) -> None:
        """See :meth:`Criterion.update`."""
        surprise = self.surprise(batch)
        low, high = self.bounds
        counted = surprise[(surprise >= low) & (surprise <= high)]
        buckets = ((counted - low) / (high - low) * self.params.surprise_buckets).astype(np.int64)
        self.covered[np.minimum(buckets, self.params.surprise_buckets - 1)] = True

    def value(self) -> float:
        """Share of the buckets, in [0, 1]."""
        return float(self.covered.mean())

    def surprise(self, batch: Activations) -> Floats:
        """Surprise of each input, ``(N,)``; infinite where its class has too few references."""
        self._prepare()
        return self._surprise(*_subject(batch))

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest surprise that counts."""
        self._prepare()
        return self._bounds()

    def _prepare(self) -> None:
        if self._ready:
            return
        traces, groups = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        self._learn(traces, groups)
        self._ready = True

    @abstractmethod
    def _learn(self, traces: Floats, groups: Ints) -> None:
        """Prepare for questions, from all training activations ``(N, neurons)`` and classes."""

    @abstractmethod
    def _surprise(self, traces: Floats, groups: Ints) -> Floats: ...

    @abstractmethod
    def _bounds(self) -> tuple[float, float]: ...


@CRITERIA.register("likelihood_surprise")
class LikelihoodSurprise(SurpriseCoverage):
    """LSC: surprise is minus the log density under the training inputs of the same decision.

    A Gaussian kernel density estimate with Scott's bandwidth; for a regressor one for all inputs.
    """

    def _learn(self, traces: Floats, groups: Ints) -> None:
        self._densities: dict[int, _Density] = {}
        known = []
        for group in np.unique(groups):
            mine = traces[groups == group]
            density = _Density.fit(mine, self.params.surprise_min_variance)
            if density is not None:
                self._densities[int(group)] = density
                known.append(-density.log_density(mine, leave_one_out=True))
        values = np.concatenate(known) if known else np.zeros(1)
        low, high = float(values.min()), float(values.max())
        given = self.params.lsc_upper
        self._range = (low, given if given is not None else high + max(high - low, 1e-9))

    def _surprise(self, traces: Floats, groups: Ints) -> Floats:
        result = np.full(len(traces), np.inf)
        for group in np.unique(groups):
            if int(group) in self._densities:
                mine = groups == group
                result[mine] = -self._densities[int(group)].log_density(traces[mine])
        return result

    def _bounds(self) -> tuple[float, float]:
        return self._range


@CRITERIA.register("distance_surprise")
class DistanceSurprise(SurpriseCoverage):
    """DSC: surprise is the distance to the own class over that class's distance to the others.

    ``DSA = |x - a| / |a - b|`` with ``a`` the nearest training input of the same decision and
    ``b`` the one nearest to ``a`` among the other decisions.
    """

    needs_classes = True

    def _learn(self, traces: Floats, groups: Ints) -> None:
        self._traces, self._groups = traces, groups
        self._to_others = np.full(len(traces), np.nan)  # |a - b|, worked out when a is first met

    def _surprise(self, traces: Floats, groups: Ints) -> Floats:
        result = np.full(len(traces), np.inf)
        for group in np.unique(groups):
            mine = np.flatnonzero(groups == group)
            same = np.flatnonzero(self._groups == group)
            others = np.flatnonzero(self._groups != group)
            if len(same) and len(others):
                at, distance = nearest(traces[mine], self._traces[same])
                near = same[at]
                new = np.unique(near[np.isnan(self._to_others[near])])
                self._to_others[new] = nearest(self._traces[new], self._traces[others])[1]
                apart = self._to_others[near]
                result[mine] = np.divide(
                    distance, apart, out=np.full(len(mine), np.inf), where=apart > 0
                )
        return result

    def _bounds(self) -> tuple[float, float]:
        return 0.0, self.params.dsc_upper


@dataclass(frozen=True)
class _Density:
    """A Gaussian kernel density estimate in coordinates in which its kernel is a unit ball."""

    kept: Ints
    centre: Floats
    whiten: Floats
    points: Floats
    log_scale: float

    @classmethod
    def fit(cls, traces: Floats, min_variance: float) -> _Density | None:
        """The density of rows; None for fewer than two, or when nothing varies."""
        if len(traces) < 2:
            return None
        kept = np.flatnonzero(traces.var(axis=0) > min_variance)
        if not len(kept):
            return None
        centre = traces[:, kept].mean(axis=0)
        variances, directions = np.linalg.eigh(
            np.cov(traces[:, kept], rowvar=False).reshape(len(kept), -1)
        )
        wide = variances > _FLAT * variances[-1]
        variances, directions = variances[wide], directions[:, wide]
        n, d = len(traces), len(variances)
        bandwidth = n ** (-1 / (d + 4))
        whiten = directions / (np.sqrt(variances) * bandwidth)
        log_scale = d * np.log(bandwidth) + 0.5 * (np.log(variances).sum() + d * np.log(2 * np.pi))
        points = (traces[:, kept] - centre) @ whiten
        return cls(kept, centre, whiten, points, float(log_scale))

    def log_density(self, traces: Floats, leave_one_out: bool = False) -> Floats:
        """Log density of rows; ``leave_one_out`` for the very rows that it was fitted on."""
        rows = (traces[:, self.kept] - self.centre) @ self.whiten
        parts = []
        for start in range(0, len(rows), _ROWS):
            exponents = -0.5 * squared_distances(rows[start : start + _ROWS], self.points)
            if leave_one_out:
                here = np.arange(len(exponents))
                exponents[here, start + here] = -np.inf
            parts.append(logsumexp(exponents, axis=1))
        count = len(self.points) - int(leave_one_out)
        density: Floats = np.concatenate(parts) - np.log(count) - self.log_scale
        return density


def nearest(rows: Floats, points: Floats) -> tuple[Ints, Floats]:
    """Position of and distance to the point nearest to each row."""
    positions, distances = [np.empty(0, np.int64)], [np.empty(0)]
    for start in range(0, len(rows), _ROWS):
        squared = squared_distances(rows[start : start + _ROWS], points)
        at = squared.argmin(axis=1)
        positions.append(at)
        exact = rows[start : start + _ROWS] - points[at]
        distances.append(np.sqrt((exact**2).sum(axis=1)))
    return np.concatenate(positions), np.concatenate(distances)


def squared_distances(a: Floats, b: Floats) -> Floats:
    """Squared Euclidean distances ``(len(a), len(b))``."""
    squares: Floats = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.maximum(squares, 0)


def _subject(batch: Activations) -> tuple[Floats, Ints]:
    groups = np.zeros(len(batch), np.int64) if batch.decisions is None else batch.decisions
    return batch.layers[batch.subject].astype(np.float64), groups
