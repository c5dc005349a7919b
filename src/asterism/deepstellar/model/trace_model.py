"""The quantitative model of a network: abstraction, Markov chain and boundary together.

The Markov chain is a discrete-time one (DTMC) over abstract states (section 3.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from asterism.core.files.artifacts import read_arrays, read_sparse, write_arrays, write_sparse
from asterism.core.messages.errors import reading
from asterism.deepstellar.model.abstraction import Abstraction
from asterism.deepstellar.params import AbstractionParams

#: Largest span of codes for which a table of positions is worth its memory (32 bits an entry).
_TABLE_SPAN = 1 << 24


@dataclass(frozen=True)
class Dtmc:
    """States and transitions that the profiled inputs visit, with their counts.

    Attributes:
        codes: int64 ``(S,)``, the visited states, increasing. A state's number is its position.
        counts: CSR int64 ``(S, S)``, how often each transition was taken.
        initial: int64 ``(S,)``, how many traces begin in each state.
        class_visits: int64 ``(S, K)``, visits of each state by traces of each class.
    """

    codes: NDArray[np.int64]
    counts: sparse.csr_array
    initial: NDArray[np.int64]
    class_visits: NDArray[np.int64]

    @classmethod
    def fit(cls, codes: NDArray[np.int64], labels: NDArray[np.int64], classes: int) -> Dtmc:
        """Count states and transitions of traces.

        Args:
            codes: int64 ``(N, T)``, the traces' abstract states.
            labels: int64 ``(N,)``, the class in which each trace ends.
            classes: number of classes.
        """
        states = np.unique(codes)
        ids = CodeIndex(states).positions(codes).astype(np.int64)
        size = len(states)
        steps = ids[:, :-1] * size + ids[:, 1:]
        keys, taken = np.unique(steps, return_counts=True)
        counts = sparse.csr_array(
            (taken.astype(np.int64), (keys // size, keys % size)), shape=(size, size)
        )
        visits = np.bincount(
            (ids * classes + labels[:, np.newaxis]).ravel(), minlength=size * classes
        )
        initial = np.bincount(ids[:, 0], minlength=size)
        return cls(states, counts, initial, visits.reshape(size, classes))

    @cached_property
    def state_index(self) -> CodeIndex:
        """Numbers of states by code."""
        return CodeIndex(self.codes)

    @cached_property
    def transition_index(self) -> CodeIndex:
        """Numbers of transitions by row times states plus column, as ``counts.data`` has them."""
        rows, columns = self.counts.nonzero()
        return CodeIndex(rows.astype(np.int64) * len(self.codes) + columns)

    @cached_property
    def visits(self) -> NDArray[np.int64]:
        """How often each state was visited, int64 ``(S,)``."""
        visits: NDArray[np.int64] = self.class_visits.sum(axis=1)
        return visits

    @cached_property
    def probabilities(self) -> sparse.csr_array:
        """Transition probabilities, CSR float64 ``(S, S)``; rows sum to 1.

        A state that traces only end in has no successor and gets a loop.
        """
        leaving = self.counts.sum(axis=1)
        loops = sparse.diags_array((leaving == 0).astype(np.float64))
        weights = (self.counts + loops).tocsr()
        rows = np.repeat(np.arange(len(self.codes)), np.diff(weights.indptr))
        weights.data = weights.data / np.maximum(leaving, 1)[rows]
        weights.sort_indices()
        return weights

    def states(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """State numbers of codes, any shape; -1 for codes that no profiled input visited."""
        return self.state_index.positions(codes)

    def transitions(self, states: NDArray[np.int32]) -> NDArray[np.int32]:
        """Transition numbers ``(N, T - 1)`` along traces of state numbers ``(N, T)``.

        -1 where the profiled inputs never took that step.
        """
        source, target = states[:, :-1].astype(np.int64), states[:, 1:]
        keys = np.where((source < 0) | (target < 0), -1, source * len(self.codes) + target)
        return self.transition_index.positions(keys)

    def save(self, folder: Path) -> None:
        """Write ``dtmc.npz``, ``counts.npz`` and ``probabilities.npz`` into a folder."""
        write_arrays(
            folder / "dtmc.npz",
            codes=self.codes,
            initial=self.initial,
            class_visits=self.class_visits,
        )
        write_sparse(folder / "counts.npz", self.counts)
        write_sparse(folder / "probabilities.npz", self.probabilities)

    @classmethod
    def load(cls, folder: Path) -> Dtmc:
        """The chain that :meth:`save` wrote."""
        with reading(f"the chain in {folder}"):
            arrays = read_arrays(folder / "dtmc.npz")
            counts = read_sparse(folder / "counts.npz")
            chain = cls(arrays["codes"], counts, arrays["initial"], arrays["class_visits"])
            size = chain.codes.size
            shapes = (chain.codes.shape, chain.initial.shape, chain.class_visits.shape[:-1])
            if set(shapes) != {(size,)} or counts.shape != (size, size):
                raise ValueError("its arrays do not fit together")
            return chain


class CodeIndex:
    """Positions of codes in a sorted array of distinct codes.

    Args:
        codes: int64 ``(S,)``, strictly increasing.
    """

    def __init__(self, codes: NDArray[np.int64]) -> None:
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    def positions(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Position of each code, -1 where it is not among those indexed; any shape."""
        if len(self.codes) == 0:
            return np.full(codes.shape, -1, np.int32)
        first, last = int(self.codes[0]), int(self.codes[-1])
        if last - first < _TABLE_SPAN:
            # Codes below the first one and above the last one meet the two -1 at the table's ends.
            places = np.clip(codes, first - 1, last + 1) - (first - 1)
            return self._table[places]
        found = np.searchsorted(self.codes, codes)
        found[found == len(self.codes)] = 0
        return np.where(self.codes[found] == codes, found, -1).astype(np.int32)

    @cached_property
    def _table(self) -> NDArray[np.int32]:
        first = int(self.codes[0]) - 1
        table = np.full(int(self.codes[-1]) - first + 2, -1, np.int32)
        table[self.codes - first] = np.arange(len(self.codes), dtype=np.int32)
        return table


@dataclass(frozen=True)
class TraceModel:
    """The states and transitions of profiled inputs, with which other traces are compared.

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
        return cls(abstraction, dtmc, find_boundary_codes(abstraction, dtmc.codes, params.n_step))

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
        """The model that :meth:`save` wrote."""
        with reading(f"the model in {folder}"):
            boundary = read_arrays(folder / "boundary.npz")["codes"]
            return cls(Abstraction.load(folder / "abstraction.npz"), Dtmc.load(folder), boundary)


def find_boundary_codes(
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
