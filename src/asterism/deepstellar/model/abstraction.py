"""Abstract states: cells of a regular grid over the principal components (section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays, write_arrays
from asterism.core.messages.errors import UserError, reading
from asterism.deepstellar.model.principal_components import PrincipalComponents
from asterism.deepstellar.parameters.params import AbstractionParams

#: How far the grid is shifted down, relative to a component's range: intervals are half-open, so
#: the smallest profiled value belongs to cell 0 and the largest to cell m, and they stay there
#: although a product's last bit may differ between batch sizes.
_SHIFT = 1e-9

#: The least range of a component, relative to the states' size. What is narrower is rounding noise
#: of states that do not vary in so many directions, and lies in the middle of one interval.
_NARROWEST = 1e-9


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
        """Cells kept apart on either side of the grid; what lies farther out is put there."""
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
        """What :meth:`save` wrote."""
        with reading(f"the abstraction {path}"):
            a = read_arrays(path)
            pca = PrincipalComponents(a["mean"], a["components"], a["explained"])
            return cls(pca, a["lower"], a["upper"], int(a["grid"][0]), int(a["grid"][1]))
