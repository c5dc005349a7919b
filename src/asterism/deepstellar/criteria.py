"""How much of a DTMC a set of inputs exercises: the paper's five criteria (section 4.1).

Three count states, two count transitions: each counts which of its items have been seen. So
coverage grows with every batch, and neither order nor batch size matters.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.criterion import Criterion
from asterism.core.parameters.registry import Registry
from asterism.deepstellar.model.trace_model import TraceModel

Codes = NDArray[np.int64]


class TraceCriterion(Criterion[TraceModel, Codes]):
    """Coverage of one kind of item; subclasses define which items traces visit.

    It is fitted once, on the model of all profiled inputs, and updated with traces ``(N, T)`` of
    abstract states.

    Attributes:
        covered: bool, whether each item has been visited.
    """

    #: Place among the criteria in reports, lower ones first.
    order: ClassVar[int]

    covered: NDArray[np.bool_]

    def fit(self, training: TraceModel) -> None:
        """See :meth:`Criterion.fit`."""
        self._model = training
        self._weights = self._weigh()
        self._total = int(self._weights.sum())
        self.covered = np.zeros(len(self._weights), np.bool_)

    def update(self, batch: Codes) -> None:
        """See :meth:`Criterion.update`."""
        items = self.items(batch)
        self.covered[items[items >= 0]] = True

    def value(self) -> float:
        """Coverage in [0, 1]; 1 where there is nothing to cover."""
        return int(self._weights[self.covered].sum()) / self._total if self._total else 1.0

    @abstractmethod
    def _weigh(self) -> NDArray[np.int64]:
        """What each item counts for."""

    @abstractmethod
    def items(self, codes: Codes) -> NDArray[np.int32]:
        """Numbers of the items that traces visit, -1 for what does not count; one row a trace."""


#: Criteria by name.
TRACE_CRITERIA: Registry[type[TraceCriterion]] = Registry("trace criterion")


def criteria_in_order() -> list[str]:
    """Names of all criteria, as reports show them."""
    return sorted(TRACE_CRITERIA, key=lambda name: TRACE_CRITERIA[name].order)


def build_trace_criteria(model: TraceModel, names: Iterable[str]) -> dict[str, TraceCriterion]:
    """Criteria by name, with nothing of the model covered yet."""
    criteria = {name: TRACE_CRITERIA[name]() for name in names}
    for criterion in criteria.values():
        criterion.fit(model)
    return criteria


def measure_criteria(model: TraceModel, codes: Codes) -> dict[str, float]:
    """Every criterion's value for traces ``(N, T)``, by name."""
    criteria = build_trace_criteria(model, criteria_in_order())
    for criterion in criteria.values():
        criterion.update(codes)
    return {name: criterion.value() for name, criterion in criteria.items()}


@TRACE_CRITERIA.register("basic_state")
class BasicStateCoverage(TraceCriterion):
    """BSCov: share of the profiled states."""

    order = 1

    def _weigh(self) -> NDArray[np.int64]:
        return np.ones(len(self._model.dtmc.codes), np.int64)

    def items(self, codes: Codes) -> NDArray[np.int32]:
        """See :meth:`TraceCriterion.items`."""
        return self._model.dtmc.states(codes)


@TRACE_CRITERIA.register("weighted_state")
class WeightedStateCoverage(BasicStateCoverage):
    """WSCov: profiled states, each weighted by how often profiling visited it."""

    order = 2

    def _weigh(self) -> NDArray[np.int64]:
        return self._model.dtmc.visits


@TRACE_CRITERIA.register("n_step_state_boundary")
class NStepBoundaryCoverage(TraceCriterion):
    """n-SBCov: share of the cells at most n steps from the profiled states, these excluded."""

    order = 3

    def _weigh(self) -> NDArray[np.int64]:
        return np.ones(len(self._model.boundary), np.int64)

    def items(self, codes: Codes) -> NDArray[np.int32]:
        """See :meth:`TraceCriterion.items`."""
        return self._model.boundary_index.positions(codes)


@TRACE_CRITERIA.register("basic_transition")
class BasicTransitionCoverage(TraceCriterion):
    """BTCov: share of the profiled transitions."""

    order = 4

    def _weigh(self) -> NDArray[np.int64]:
        return np.ones(self._model.dtmc.counts.nnz, np.int64)

    def items(self, codes: Codes) -> NDArray[np.int32]:
        """See :meth:`TraceCriterion.items`."""
        dtmc = self._model.dtmc
        return dtmc.transitions(dtmc.states(codes))


@TRACE_CRITERIA.register("weighted_transition")
class WeightedTransitionCoverage(BasicTransitionCoverage):
    """WTCov: profiled transitions, each weighted by how often profiling took it."""

    order = 5

    def _weigh(self) -> NDArray[np.int64]:
        weights: NDArray[np.int64] = self._model.dtmc.counts.data
        return weights
