"""Abstract states: cells of a regular grid over the principal components (section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from asterism.core.files.artifacts import read_arrays, write_arrays
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError, reading
from asterism.core.settings import machine
from asterism.deepstellar.params import AbstractionParams

#: How far the grid is shifted down, relative to a component's range: intervals are half-open, so
#: the smallest profiled value belongs to cell 0 and the largest to cell m, and they stay there
#: although a product's last bit may differ between batch sizes.
_SHIFT = 1e-9

#: The least range of a component, relative to the states' size. What is narrower is rounding noise
#: of states that do not vary in so many directions, and lies in the middle of one interval.
_NARROWEST = 1e-9

#: Rows taken at a time; with 128 columns a block of float64 has 16 MB.
BLOCK_ROWS = 16_384

Result = TypeVar("Result")


@dataclass(frozen=True)
class Abstraction:
    """Maps concrete hidden states to integers, one integer for each grid cell.

    Attributes:
        pca: the projection to ``k`` components.
        lower: float64 ``(k,)``, where the first of the ``m`` intervals begins.
        upper: float64 ``(k,)``, where the last one ends.
        m: number of equal intervals over each component's range.
        bits: bits of a code for each component.
    """

    pca: PrincipalComponents
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    m: int
    bits: int

    @classmethod
    def fit(
        cls, states: NDArray[np.float32], params: AbstractionParams
    ) -> tuple[Abstraction, NDArray[np.int64]]:
        """The abstraction of profiled states, and their codes.

        Args:
            states: float32 ``(N, T, H)``, may be memory-mapped.
            params: ``k``, ``m``, ``bits`` and ``n_step``.

        Returns:
            The abstraction and the profiled states' codes, int64 ``(N, T)``.

        Raises:
            UserError: fewer dimensions than components.
        """
        if params.k > states.shape[-1]:
            raise UserError(
                f"abstraction.k={params.k} components are more than the {states.shape[-1]} "
                "dimensions of a state"
            )
        pca = PrincipalComponents.fit(states.reshape(-1, states.shape[-1]), params.k)
        coordinates = pca.project(states, in_threads=True)
        flat = coordinates.reshape(-1, params.k)
        lower, upper = flat.min(axis=0), flat.max(axis=0)
        ranges = upper - lower
        size = max(ranges.max(), np.abs(pca.mean).max(), np.finfo(np.float32).tiny)
        spread = np.maximum(ranges, _NARROWEST * size)
        shift = spread * np.where(ranges < spread, 0.5 / params.m, _SHIFT)
        fitted = cls(pca, lower - shift, lower - shift + spread, params.m, params.bits)
        return fitted, fitted._codes(coordinates)

    @property
    def k(self) -> int:
        """Number of components."""
        return len(self.lower)

    @property
    def margin(self) -> int:
        """Cells on either side of the grid for states that lie farther out."""
        return int((1 << self.bits) - self.m - 1) // 2

    def encode(self, states: NDArray[np.float32]) -> NDArray[np.int64]:
        """Codes ``(...)`` of states ``(..., H)``.

        Raises:
            UserError: they are no states of the network that was abstracted.
        """
        width = len(self.pca.mean)
        if states.shape[-1] != width:
            raise UserError(
                f"the abstraction is of a network whose states have {width} numbers, and these "
                f"have {states.shape[-1]}: `dvc repro build_dtmc` makes one of this network"
            )
        return self._codes(self.pca.project(states))

    def cells(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Grid cells ``(..., k)`` of codes ``(...)``; profiled states have cells 0 to m."""
        shifts = self.bits * np.arange(self.k)
        return (codes[..., np.newaxis] >> shifts) % (1 << self.bits) - self.margin

    def _codes(self, coordinates: NDArray[np.float64]) -> NDArray[np.int64]:
        width = (self.upper - self.lower) / self.m
        codes = np.zeros(coordinates.shape[:-1], np.int64)
        for i in range(self.k):
            cell = np.floor((coordinates[..., i] - self.lower[i]) / width[i])
            cell = np.clip(cell, -self.margin, (1 << self.bits) - 1 - self.margin)
            codes |= (cell.astype(np.int64) + self.margin) << (self.bits * i)
        return codes

    def save(self, path: Path) -> None:
        """Write everything to an ``.npz``."""
        write_arrays(
            path,
            mean=self.pca.mean,
            components=self.pca.components,
            explained=self.pca.explained,
            lower=self.lower,
            upper=self.upper,
            grid=np.array([self.m, self.bits], np.int64),
        )

    @classmethod
    def load(cls, path: Path) -> Abstraction:
        """The abstraction that :meth:`save` wrote."""
        with reading(f"the abstraction {path}"):
            a = read_arrays(path)
            pca = PrincipalComponents(a["mean"], a["components"], a["explained"])
            return cls(pca, a["lower"], a["upper"], int(a["grid"][0]), int(a["grid"][1]))


@dataclass(frozen=True)
class PrincipalComponents:
    """The ``k`` directions in which states vary most.

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
