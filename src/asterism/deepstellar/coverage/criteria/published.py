"""The paper's five criteria: three that count states, two that count transitions."""

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


@TRACE_CRITERIA.register("basic_transition")
class BasicTransition(TraceCriterion):
    """BTCov: share of the profiled transitions."""

    order = 4

    def _weigh(self) -> NDArray[np.int64]:
        return np.ones(self._model.dtmc.counts.nnz, np.int64)

    def items(self, codes: Codes) -> NDArray[np.int32]:
        """See :meth:`TraceCriterion.items`."""
        dtmc = self._model.dtmc
        return dtmc.transitions(dtmc.states(codes))


@TRACE_CRITERIA.register("weighted_transition")
class WeightedTransition(BasicTransition):
    """WTCov: profiled transitions, each weighted by how often profiling took it."""

    order = 5

    def _weigh(self) -> NDArray[np.int64]:
        weights: NDArray[np.int64] = self._model.dtmc.counts.data
        return weights
