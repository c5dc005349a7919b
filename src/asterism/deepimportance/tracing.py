"""The activations of a model's neurons, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.console import progress
from asterism.criteria.criterion import Activations
from asterism.deepimportance.judged_model import JudgedModel

BATCH = 512


class Tracer:
    """Runs inputs through a model and records the neurons of some layers.

    Args:
        model: the model.
        subject: the layer under study.
        layers: those whose neurons count for the criteria.
    """

    def __init__(self, model: JudgedModel, subject: str, layers: list[str]) -> None:
        self._names = sorted({subject, *layers}, key=list(model.layers).index)
        self._record = model.recorder(self._names)
        self._counted = layers
        self._subject = subject
        self._classifies = model.classifies

    def __call__(self, items: NDArray[Any]) -> Activations:
        """Activations of one batch, ``(N, …)`` in the form that the model is given."""
        hidden, output = self._record(items)
        decisions = output.argmax(axis=1).astype(np.int64) if self._classifies else None
        found = dict(zip(self._names, hidden, strict=True))
        counted = {name: values for name, values in found.items() if name in self._counted}
        return Activations(counted, found[self._subject], decisions)

    def stream(self, items: NDArray[Any], label: str | None = None) -> Iterator[Activations]:
        """Activations of many inputs, batch by batch, under a progress bar if it has a label."""
        starts: Any = range(0, len(items), BATCH)
        if label is not None:
            starts = progress(starts, label=label, unit="batch")
        for start in starts:
            yield self(items[start : start + BATCH])
