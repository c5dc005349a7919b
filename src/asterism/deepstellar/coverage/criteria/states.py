"""Criteria that count states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asterism.deepstellar.coverage.criteria import TRACE_CRITERIA, Codes, TraceCriterion


@TRACE_CRITERIA.register("basic_state")
class BasicState(TraceCriterion):
    """BSCov: share of the profiled states."""

    order = 1

    def _weigh(self) -> NDArray[np.int64]:
        return np.ones(len(self._model.dtmc.codes), np.int64)

    def items(self, codes: Codes) -> NDArray[np.int32]:
        """See :meth:`TraceCriterion.items`."""
        return self._model.dtmc.states(codes)


@TRACE_CRITERIA.register("weighted_state")
class WeightedState(BasicState):
    """WSCov: profiled states, each weighted by how often profiling visited it."""

    order = 2

    def _weigh(self) -> NDArray[np.int64]:
        return self._model.dtmc.visits


@TRACE_CRITERIA.register("n_step_state_boundary")
class NStepStateBoundary(TraceCriterion):
    """n-SBCov: share of the cells at most n steps from the profiled states, these excluded."""

    order = 3

    def _weigh(self) -> NDArray[np.int64]:
        return np.ones(len(self._model.boundary), np.int64)

    def items(self, codes: Codes) -> NDArray[np.int32]:
        """See :meth:`TraceCriterion.items`."""
        return self._model.boundary_index.positions(codes)
