"""Exact principal components in one pass over rows that need not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.core.console import progress

#: Rows taken at a time; with 128 columns a block of float64 has 32 MB.
BLOCK_ROWS = 32_768


@dataclass(frozen=True)
class PrincipalComponents:
    """The ``k`` directions of greatest variance.

    Attributes:
        mean: float64 ``(H,)``.
        components: float64 ``(k, H)``, orthonormal rows, greatest variance first. Signs are fixed:
            the entry of largest magnitude in each row is positive.
        explained: float64 ``(k,)``, each direction's share of the total variance.
    """

    mean: NDArray[np.float64]
    components: NDArray[np.float64]
    explained: NDArray[np.float64]

    @classmethod
    def fit(cls, rows: NDArray[np.float32], k: int) -> PrincipalComponents:
        """Principal components of ``rows`` ``(n, H)``, which may be memory-mapped.

        Mean and covariance are accumulated in float64, relative to the first block's mean so
        that subtracting the mean at the end cancels no digits.
        """
        count, width = rows.shape
        shift = rows[:BLOCK_ROWS].mean(axis=0, dtype=np.float64)
        total = np.zeros(width)
        products = np.zeros((width, width))
        for start in progress(range(0, count, BLOCK_ROWS), label="covariance", unit="block"):
            block = rows[start : start + BLOCK_ROWS].astype(np.float64)
            block -= shift
            total += block.sum(axis=0)
            products += block.T @ block
        offset = total / count
        covariance = products / count - np.outer(offset, offset)
        variances, vectors = np.linalg.eigh(covariance)
        components = np.ascontiguousarray(vectors[:, ::-1].T[:k])
        largest = np.abs(components).argmax(axis=1)
        components *= np.sign(components[np.arange(k), largest])[:, np.newaxis]
        variances = np.maximum(variances[::-1], 0)
        explained = variances[:k] / max(float(variances.sum()), np.finfo(np.float64).tiny)
        return cls(shift + offset, components, explained)

    def project(self, states: NDArray[np.float32]) -> NDArray[np.float64]:
        """Coordinates ``(..., k)`` of states ``(..., H)``."""
        flat = states.reshape(-1, states.shape[-1])
        projected = np.empty((len(flat), len(self.components)))
        directions = self.components.T
        for start in range(0, len(flat), BLOCK_ROWS):
            block = flat[start : start + BLOCK_ROWS].astype(np.float64)
            np.matmul(block, directions, out=projected[start : start + BLOCK_ROWS])
        projected -= self.mean @ directions
        return projected.reshape(*states.shape[:-1], -1)
