"""Criteria that count transitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asterism.deepstellar.coverage.criteria import TRACE_CRITERIA, Codes, TraceCriterion


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
