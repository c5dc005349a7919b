"""Layers that keep shapes: activations, and those that act only in training."""

from __future__ import annotations

from collections.abc import Sequence

from asterism.memo.universe.keras_options import activation, vector
from asterism.memo.universe.layers import ANY_RANK, declare
from asterism.memo.universe.layers.normalisation import axis_exists
from asterism.memo.universe.parameters import Choice, Number
from asterism.memo.universe.shapes import DATA_FORMAT
from asterism.memo.universe.tensors import Config, Tensor, require

_RATE = Number("rate", 0.25, 0.0, 0.9, integer=False)


def same_shape(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    """The shape of the input."""
    return inputs[0].shape


declare("Dropout", ANY_RANK, same_shape, (_RATE,))
declare("AlphaDropout", ANY_RANK, same_shape, (_RATE,))
declare("GaussianDropout", ANY_RANK, same_shape, (_RATE,))
declare("GaussianNoise", ANY_RANK, same_shape, (Number("stddev", 0.5, 0.0, 1.0, integer=False),))
declare(
    "ActivityRegularization",
    ANY_RANK,
    same_shape,
    (
        Number("l1", 0.0, 0.0, 1.0, integer=False),
        Number("l2", 0.0, 0.0, 1.0, integer=False),
    ),
)
for axes in (1, 2, 3):
    formats = () if axes == 1 else (DATA_FORMAT,)
    declare(f"SpatialDropout{axes}D", frozenset({axes + 2}), same_shape, (_RATE, *formats))


def _slope(name: str, default: float) -> Number:
    return Number(name, default, 0.0, 1.0, integer=False)


def _shared(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    axes = config.get("shared_axes")
    for axis in axes if isinstance(axes, list | tuple) else []:
        require(0 < axis < inputs[0].rank, "there is no such axis")
    return inputs[0].shape


declare("Activation", ANY_RANK, same_shape, (activation(default="relu"),))
declare("ELU", ANY_RANK, same_shape, (Number("alpha", 1.0, 0.1, 2.0, integer=False),))
declare(
    "LeakyReLU",
    ANY_RANK,
    same_shape,
    (_slope("negative_slope", 0.3),),
    # Keras 2 calls it alpha.
    from_keras=lambda config: {
        "negative_slope" if name == "alpha" else name: value for name, value in config.items()
    },
)
declare(
    "PReLU",
    ANY_RANK,
    _shared,
    (*vector("alpha"), Choice("shared_axes", "none", ("none", [1], [1, 2]))),
)
declare(
    "ReLU",
    ANY_RANK,
    same_shape,
    (
        Choice("max_value", "none", ("none", 0.5, 1.0, 6.0)),
        _slope("negative_slope", 0.0),
        Number("threshold", 0.0, 0.0, 2.0, integer=False),
    ),
)
declare("Softmax", ANY_RANK, axis_exists, (Choice("axis", -1, (-1, 1, 2)),))
