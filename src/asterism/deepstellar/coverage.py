"""How much of a DTMC a set of inputs exercises: the five criteria of section 4.1.

Each criterion counts which of its items (states, boundary states, transitions) have been seen.
So coverage grows with every batch, and neither order nor batch size matters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.deepstellar.model import TraceModel


class CoverageCriterion(ABC):
    """Coverage of one kind of item; a subclass says which items traces visit.

    Args:
        model: abstraction, DTMC and boundary of the profiled inputs.
    """

    name: ClassVar[str]

    def __init__(self, model: TraceModel) -> None:
        self._model = model
        self._weights = self._weigh()
        self._total = int(self._weights.sum())
        self.seen = np.zeros(len(self._weights), dtype=bool)

    def update(self, codes: NDArray[np.int64]) -> None:
        """Count traces ``(N, T)`` of abstract states in."""
        items = self.items(codes)
        self.seen[items[items >= 0]] = True

    def value(self) -> float:
        """Coverage in [0, 1]; 1 where there is nothing to cover."""
        return int(self._weights[self.seen].sum()) / self._total if self._total else 1.0

    @abstractmethod
    def _weigh(self) -> NDArray[np.int64]:
        """What each item counts for."""

    @abstractmethod
    def items(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Numbers of the items that traces visit, -1 for what does not count; one row a trace."""


class BasicState(CoverageCriterion):
    """BSCov: share of the profiled states."""

    name = "basic_state"

    def _weigh(self) -> NDArray[np.int64]:
        return np.ones(len(self._model.dtmc.codes), np.int64)

    def items(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """See :meth:`CoverageCriterion.items`."""
        return self._model.dtmc.states(codes)


class WeightedState(BasicState):
    """WSCov: profiled states, each weighted by how often profiling visited it."""

    name = "weighted_state"

    def _weigh(self) -> NDArray[np.int64]:
        return self._model.dtmc.visits


class NStepStateBoundary(CoverageCriterion):
    """n-SBCov: share of the cells at most n steps from the profiled states, these excluded."""

    name = "n_step_state_boundary"

    def _weigh(self) -> NDArray[np.int64]:
        return np.ones(len(self._model.boundary), np.int64)

    def items(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """See :meth:`CoverageCriterion.items`."""
        return self._model.boundary_index.positions(codes)


class BasicTransition(CoverageCriterion):
    """BTCov: share of the profiled transitions."""

    name = "basic_transition"

    def _weigh(self) -> NDArray[np.int64]:
        return np.ones(self._model.dtmc.counts.nnz, np.int64)

    def items(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """See :meth:`CoverageCriterion.items`."""
        dtmc = self._model.dtmc
        return dtmc.transitions(dtmc.states(codes))


class WeightedTransition(BasicTransition):
    """WTCov: profiled transitions, each weighted by how often profiling took it."""

    name = "weighted_transition"

    def _weigh(self) -> NDArray[np.int64]:
        weights: NDArray[np.int64] = self._model.dtmc.counts.data
        return weights


CRITERIA: tuple[type[CoverageCriterion], ...] = (
    BasicState,
    WeightedState,
    NStepStateBoundary,
    BasicTransition,
    WeightedTransition,
)


def measure(model: TraceModel, codes: NDArray[np.int64]) -> dict[str, float]:
    """Every criterion's value for traces ``(N, T)``, by name."""
    values = {}
    for criterion in CRITERIA:
        coverage = criterion(model)
        coverage.update(codes)
        values[criterion.name] = coverage.value()
    return values
