"""Exact principal components in one pass over rows that need not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from asterism.core.messages.console import progress
from asterism.core.settings import machine

#: Rows taken at a time; with 128 columns a block of float64 has 16 MB.
BLOCK_ROWS = 16_384

Result = TypeVar("Result")


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

        def moments(start: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            block = rows[start : start + BLOCK_ROWS].astype(np.float64)
            block -= shift
            return block.sum(axis=0), block.T @ block

        total = np.zeros(width)
        products = np.zeros((width, width))
        for block_total, block_products in _over_blocks(count, moments, "covariance"):
            total += block_total
            products += block_products
        offset = total / count
        covariance = products / count - np.outer(offset, offset)
        with threadpool_limits(1, user_api="blas"):
            variances, vectors = np.linalg.eigh(covariance)
        components = np.ascontiguousarray(vectors[:, ::-1].T[:k])
        largest = np.abs(components).argmax(axis=1)
        components *= np.sign(components[np.arange(k), largest])[:, np.newaxis]
        variances = np.maximum(variances[::-1], 0)
        explained = variances[:k] / max(float(variances.sum()), np.finfo(np.float64).tiny)
        return cls(shift + offset, components, explained)

    def project(
        self, states: NDArray[np.float32], *, in_threads: bool = False
    ) -> NDArray[np.float64]:
        """Coordinates ``(..., k)`` of states ``(..., H)``.

        Args:
            states: any number of them, may be memory-mapped.
            in_threads: share the work among all processors, under a progress bar.
        """
        flat = states.reshape(-1, states.shape[-1])
        projected = np.empty((len(flat), len(self.components)))
        directions = self.components.T
        offset = self.mean @ directions

        def project(start: int) -> None:
            part = slice(start, start + BLOCK_ROWS)
            np.matmul(flat[part].astype(np.float64), directions, out=projected[part])
            projected[part] -= offset

        if in_threads:
            list(_over_blocks(len(flat), project, "projection"))
        else:
            for start in range(0, len(flat), BLOCK_ROWS):
                project(start)
        return projected.reshape(*states.shape[:-1], len(self.components))


def _over_blocks(count: int, work: Callable[[int], Result], label: str) -> Iterator[Result]:
    """Results of ``work(start)`` for each block of rows, in order.

    A thread for each processor, and one for each product: BLAS' own threads wait for each other
    in every product, which costs ten times as much as soon as anything else runs beside them.
    """
    starts = range(0, count, BLOCK_ROWS)
    with (
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(machine.available_threads()) as threads,
    ):
        yield from progress(threads.map(work, starts), total=len(starts), label=label, unit="block")
