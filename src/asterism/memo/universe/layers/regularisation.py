"""Layers that act only in training; at inference all of them pass their input through."""

from __future__ import annotations

from collections.abc import Sequence

from asterism.memo.universe.parameters import Number
from asterism.memo.universe.shapes import DATA_FORMAT
from asterism.memo.universe.spec import ANY_RANK, declare
from asterism.memo.universe.tensors import Config, Tensor

_RATE = Number("rate", 0.25, 0.0, 0.9, integer=False)


def unchanged(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    """The shape of the input."""
    return inputs[0].shape


declare("Dropout", ANY_RANK, unchanged, (_RATE,))
declare("AlphaDropout", ANY_RANK, unchanged, (_RATE,))
declare("GaussianDropout", ANY_RANK, unchanged, (_RATE,))
declare("GaussianNoise", ANY_RANK, unchanged, (Number("stddev", 0.5, 0.0, 1.0, integer=False),))
declare(
    "ActivityRegularization",
    ANY_RANK,
    unchanged,
    (
        Number("l1", 0.0, 0.0, 1.0, integer=False),
        Number("l2", 0.0, 0.0, 1.0, integer=False),
    ),
)
for axes in (1, 2, 3):
    formats = () if axes == 1 else (DATA_FORMAT,)
    declare(f"SpatialDropout{axes}D", frozenset({axes + 2}), unchanged, (_RATE, *formats))
