"""The quantitative model of a network: abstraction, Markov chain and boundary together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays, write_arrays
from asterism.core.messages.errors import reading
from asterism.deepstellar.model.abstraction import Abstraction
from asterism.deepstellar.model.dtmc import CodeIndex, Dtmc
from asterism.deepstellar.params import AbstractionParams


@dataclass(frozen=True)
class TraceModel:
    """What the profiled inputs do, as a model that other inputs' traces are held against.

    Attributes:
        abstraction: from hidden states to codes.
        dtmc: the visited codes and the steps between them.
        boundary: int64 ``(B,)``, increasing: unvisited codes within ``n_step`` of visited ones.
    """

    abstraction: Abstraction
    dtmc: Dtmc
    boundary: NDArray[np.int64]

    @classmethod
    def fit(
        cls,
        states: NDArray[np.float32],
        labels: NDArray[np.int64],
        classes: int,
        params: AbstractionParams,
    ) -> TraceModel:
        """The model of profiled hidden states.

        Args:
            states: float32 ``(N, T, H)``, a state for each input and step, of any network that
                has such states; may be memory-mapped.
            labels: int64 ``(N,)``, the class that each input ends in.
            classes: number of classes.
            params: how to abstract.
        """
        abstraction, codes = Abstraction.fit(states, params)
        dtmc = Dtmc.fit(codes, labels, classes)
        return cls(abstraction, dtmc, boundary_codes(abstraction, dtmc.codes, params.n_step))

    @cached_property
    def boundary_index(self) -> CodeIndex:
        """Numbers of boundary states by code."""
        return CodeIndex(self.boundary)

    def facts(self) -> dict[str, float]:
        """How large the model is, and how much of the states' variance it keeps."""
        return {
            "states": len(self.dtmc.codes),
            "transitions": self.dtmc.counts.nnz,
            "boundary_states": len(self.boundary),
            "initial_states": int(np.count_nonzero(self.dtmc.initial)),
            "explained_variance": float(self.abstraction.pca.explained.sum()),
        }

    def save(self, folder: Path) -> None:
        """Write everything into a folder."""
        self.abstraction.save(folder / "abstraction.npz")
        self.dtmc.save(folder)
        write_arrays(folder / "boundary.npz", codes=self.boundary)

    @classmethod
    def load(cls, folder: Path) -> TraceModel:
        """What :meth:`save` wrote."""
        with reading(f"the model in {folder}"):
            boundary = read_arrays(folder / "boundary.npz")["codes"]
            return cls(Abstraction.load(folder / "abstraction.npz"), Dtmc.load(folder), boundary)


def boundary_codes(
    abstraction: Abstraction, visited: NDArray[np.int64], n_step: int
) -> NDArray[np.int64]:
    """Codes of the cells at Manhattan distance 1 to ``n_step`` from the nearest visited one.

    Args:
        abstraction: whose grid the codes belong to; it leaves more than ``n_step`` cells
            around the profiled grid.
        visited: int64 ``(S,)``, increasing.
        n_step: at least 1.

    Returns:
        int64 ``(B,)``, increasing, none of them visited. The region may reach beyond the
        profiled ranges.
    """
    units = np.int64(1) << (abstraction.bits * np.arange(abstraction.k, dtype=np.int64))
    steps = np.concatenate([units, -units])
    known = visited
    frontier = visited
    for _ in range(n_step):
        around = np.unique(frontier[:, np.newaxis] + steps)
        frontier = np.setdiff1d(around, known, assume_unique=True)
        known = np.union1d(known, frontier)
    return np.setdiff1d(known, visited, assume_unique=True)
