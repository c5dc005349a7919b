"""Layers that keep shapes or merge tensors: activations, those of training alone, and merging."""

from __future__ import annotations

from collections.abc import Sequence

from asterism.memo.universe.keras_options import activation, vector
from asterism.memo.universe.layers import ANY_RANK, declare
from asterism.memo.universe.layers.normalisation import axis_exists
from asterism.memo.universe.parameters import Choice, Number
from asterism.memo.universe.shapes import DATA_FORMAT, flag
from asterism.memo.universe.tensors import Config, Tensor, require_valid

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
        require_valid(0 < axis < inputs[0].rank, "there is no such axis")
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


def _elementwise(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    first = inputs[0].shape
    require_valid(all(t.rank == inputs[0].rank for t in inputs), "merged inputs have one rank")
    # Keras broadcasts an axis of size 1.
    sizes = []
    for axis in range(len(first)):
        found = {t.shape[axis] for t in inputs}
        require_valid(len(found - {1}) <= 1, "merged inputs have one shape")
        sizes.append(max(found))
    return tuple(sizes)


def _concatenated(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    rank = inputs[0].rank
    axis = config.get("axis", -1)
    require_valid(-rank < axis < rank and axis != 0, "there is no such axis")
    at = axis - 1 if axis > 0 else rank - 1 + axis
    shapes = [list(t.shape) for t in inputs]
    require_valid(all(len(s) == rank - 1 for s in shapes), "concatenated inputs have one rank")
    rest = {tuple(s[:at] + s[at + 1 :]) for s in shapes}
    require_valid(len(rest) == 1, "concatenated inputs agree on the other axes")
    return (*shapes[0][:at], sum(s[at] for s in shapes), *shapes[0][at + 1 :])


def _dot(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    axes = config["axes"]
    first, second = [list(t.shape) for t in inputs]
    at = [axes, axes] if isinstance(axes, int) else list(axes)
    positions = []
    for axis, shape in zip(at, (first, second), strict=True):
        position = axis - 1 if axis > 0 else len(shape) + axis
        require_valid(0 <= position < len(shape), "there is no such axis")
        positions.append(position)
    require_valid(first[positions[0]] == second[positions[1]], "the contracted axes have one size")
    del first[positions[0]], second[positions[1]]
    return (*first, *second) or (1,)


_MANY = (2, 4)
for name in ("Add", "Multiply", "Average", "Maximum", "Minimum"):
    declare(name, ANY_RANK, _elementwise, arity=_MANY)
declare("Subtract", ANY_RANK, _elementwise, arity=(2, 2))
declare(
    "Concatenate",
    ANY_RANK,
    _concatenated,
    (Choice("axis", -1, (-1, 1, 2, 3)),),
    # Published models join many branches at once.
    arity=(2, 64),
)
declare(
    "Dot",
    frozenset({2, 3}),
    _dot,
    (Choice("axes", -1, (-1, 1, 2)), flag("normalize", False)),
    out_ranks=lambda rank: frozenset({2, 3} if rank == 3 else {2}),
    arity=(2, 2),
)
