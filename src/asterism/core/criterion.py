"""The interface of a coverage criterion, independent of what it covers."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Generic, Self, TypeVar

Training = TypeVar("Training")
Batch = TypeVar("Batch")


class Criterion(ABC, Generic[Training, Batch]):
    """Counts what inputs have covered.

    Call :meth:`fit` with what the training inputs do; then :meth:`update` with what inputs to be
    judged do, in batches of any size and in any order; :meth:`value` never falls.

    Attributes:
        covered: all that updates change; everything else is fixed by the fit.
    """

    covered: Any

    @abstractmethod
    def fit(self, training: Training) -> None:
        """Learn from training inputs what there is to cover."""

    @abstractmethod
    def update(self, batch: Batch) -> None:
        """Count one batch of inputs in."""

    @abstractmethod
    def value(self) -> float:
        """Coverage so far."""

    def fork(self) -> Self:
        """A copy that goes on from what is covered now and shares what was fitted."""
        twin = copy.copy(self)
        twin.covered = copy.deepcopy(self.covered)
        return twin
