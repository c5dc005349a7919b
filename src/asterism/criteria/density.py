"""A Gaussian kernel density estimate and distances, over rows that lie on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.criteria.row_file import RowFile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Directions in which the points vary less than this share of the main one carry no density.
_FLAT = 1e-10

#: Rows of either side that a matrix of distances holds at once.
CHUNK = 1024


@dataclass(frozen=True)
class DensityEstimate:
    """The estimate, with Scott's bandwidth, in coordinates in which its kernel is a unit ball.

    Attributes:
        kept: columns of the rows that vary.
        centre: float64 ``(kept,)``, their mean.
        whiten: float64 ``(kept, d)``, from centred columns to the coordinates.
        points: the rows that it was fitted on, in the coordinates.
        log_scale: logarithm of the kernel's volume in the rows' own units.
    """

    kept: Ints
    centre: Floats
    whiten: Floats
    points: RowFile
    log_scale: float

    @classmethod
    def fit(cls, rows: RowFile, min_variance: float) -> DensityEstimate | None:
        """The density of rows; None for fewer than two, or when nothing varies."""
        if len(rows) < 2:
            return None
        mean, covariance = _moments(rows)
        kept = np.flatnonzero(np.diag(covariance) * (1 - 1 / len(rows)) > min_variance)
        if not len(kept):
            return None
        variances, directions = np.linalg.eigh(covariance[np.ix_(kept, kept)])
        wide = variances > _FLAT * variances[-1]
        variances, directions = variances[wide], directions[:, wide]
        d = len(variances)
        bandwidth = len(rows) ** (-1 / (d + 4))
        log_scale = d * np.log(bandwidth) + 0.5 * (np.log(variances).sum() + d * np.log(2 * np.pi))
        points = RowFile((d,), np.float64)
        whiten = directions / (np.sqrt(variances) * bandwidth)
        result = cls(kept, mean[kept], whiten, points, float(log_scale))
        for _, chunk in rows.chunks(CHUNK):
            points.append(result._coordinates(chunk.astype(np.float64)))
        return result

    def log_density(self, rows: Floats) -> Floats:
        """Log density at rows ``(N, neurons)``."""
        coordinates = self._coordinates(rows)
        parts = [
            self._log_sums(coordinates[start : start + CHUNK])
            for start in range(0, len(rows), CHUNK)
        ]
        density: Floats = np.concatenate(parts) - np.log(len(self.points)) - self.log_scale
        return density

    def of_its_own_points(self) -> Iterator[Floats]:
        """Log density at each point that it was fitted on under all others, piece by piece."""
        for start, points in self.points.chunks(CHUNK):
            sums = self._log_sums(points, start)
            yield sums - np.log(len(self.points) - 1) - self.log_scale

    def _coordinates(self, rows: Floats) -> Floats:
        coordinates: Floats = (rows[:, self.kept] - self.centre) @ self.whiten
        return coordinates

    def _log_sums(self, coordinates: Floats, itself: int | None = None) -> Floats:
        """Logarithm of the sum of all kernels at some coordinates.

        Args:
            coordinates: ``(N, d)``.
            itself: the coordinates are those of the points from here on, which do not count.
        """
        from scipy.special import logsumexp

        total = np.full(len(coordinates), -np.inf)
        for start, points in self.points.chunks(CHUNK):
            exponents = _squared_distances(coordinates, points)
            exponents *= -0.5
            if start == itself:
                np.fill_diagonal(exponents, -np.inf)
            total = np.logaddexp(total, logsumexp(exponents, axis=1))
        return total


def _moments(rows: RowFile) -> tuple[Floats, Floats]:
    """Mean ``(n,)`` and covariance ``(n, n)`` of rows, in two passes."""
    mean: Floats = sum(chunk.astype(np.float64).sum(axis=0) for _, chunk in rows.chunks(CHUNK))
    mean = mean / len(rows)
    covariance = np.zeros((len(mean), len(mean)))
    for _, chunk in rows.chunks(CHUNK):
        centred = chunk - mean
        covariance += centred.T @ centred
    return mean, covariance / (len(rows) - 1)


def find_nearest_point(rows: Floats, files: Sequence[RowFile]) -> tuple[Ints, Floats]:
    """The nearest of all points of some files.

    Args:
        rows: ``(N, d)``.
        files: points ``(·, d)``, at least one of them not empty; counted through one after another.

    Returns:
        Position of and Euclidean distance to each row's nearest point; of equal ones the first.
    """
    positions, least = np.zeros(len(rows), np.int64), np.full(len(rows), np.inf)
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        here = slice(start, start + CHUNK)
        offset = 0
        for file in files:
            for at, chunk in file.chunks(CHUNK):
                points = chunk.astype(np.float64)
                # |x - p|² without |x|², which does not change which point is nearest.
                unlikeness = (-2 * part) @ points.T
                unlikeness += (points**2).sum(axis=1)
                closest = unlikeness.argmin(axis=1)
                exact = ((part - points[closest]) ** 2).sum(axis=1)
                closer = exact < least[here]
                positions[here][closer] = offset + at + closest[closer]
                least[here][closer] = exact[closer]
            offset += len(file)
    return positions, np.sqrt(least)


def _squared_distances(a: Floats, b: Floats) -> Floats:
    """Squared Euclidean distances ``(len(a), len(b))``."""
    products = a @ b.T
    products *= -2
    products += (a**2).sum(axis=1)[:, None]
    products += (b**2).sum(axis=1)
    squares: Floats = np.maximum(products, 0, out=products)
    return squares
