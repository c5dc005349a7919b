"""When two models' outputs deviate, and how far apart they are."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Outputs = NDArray[np.float32]


class Comparison(Protocol):
    """Compares the outputs ``(N, ...)`` of the original f and of the compressed model g."""

    def deviates(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """Which inputs the two models treat differently, bool ``(N,)``."""
        ...

    def distance(self, f: Outputs, g: Outputs) -> NDArray[np.float32]:
        """How far apart the outputs are, float32 ``(N,)``, at least 0; the search enlarges it."""
        ...

    def uncertainty(self, f: Outputs, g: Outputs, k: int) -> NDArray[np.float32]:
        """How undecided the models are between k answers, float32 ``(N,)``, higher is less so."""
        ...


class TopLabel:
    """Classifiers: they deviate where their most probable labels differ."""

    def deviates(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Comparison.deviates`."""
        different: NDArray[np.bool_] = f.argmax(axis=1) != g.argmax(axis=1)
        return different

    def distance(self, f: Outputs, g: Outputs) -> NDArray[np.float32]:
        """The difference of the two top-1 probabilities: Dflare's D."""
        difference: NDArray[np.float32] = np.abs(f.max(axis=1) - g.max(axis=1))
        return difference

    def uncertainty(self, f: Outputs, g: Outputs, k: int) -> NDArray[np.float32]:
        """DiffChaser's k-uncertainty: how close the k largest probabilities are.

        One minus the difference of the largest and the k-th largest probability, of the model
        that is less decided.
        """
        closeness = []
        for outputs in (f, g):
            ordered = np.sort(outputs, axis=1)
            closeness.append(1 - (ordered[:, -1] - ordered[:, -min(k, outputs.shape[1])]))
        undecided: NDArray[np.float32] = np.maximum(*closeness)
        return undecided
