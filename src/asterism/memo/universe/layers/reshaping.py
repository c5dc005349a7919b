"""Layers that move elements about: reshaping, cropping, padding, repeating."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from asterism.memo.universe.layers import ANY_RANK, MAX_RANK, declare
from asterism.memo.universe.parameters import (
    Choice,
    Number,
    Parameter,
    ShapeDependentParameter,
    Sizes,
    are_whole,
    is_whole,
)
from asterism.memo.universe.shapes import (
    DATA_FORMAT,
    factorise,
    flag,
    join_shape,
    pairs_per_axis,
    per_axis,
    split_shape,
)
from asterism.memo.universe.tensors import Config, Tensor, require_valid


def _flattened(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    return (inputs[0].size,)


def _reshaped(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    target = [int(v) for v in config["target_shape"]]
    size = inputs[0].size
    require_valid(target.count(-1) <= 1, "one size at most is left open")
    if -1 in target:
        known = -prod(target)
        require_valid(known > 0 and size % known == 0, "the sizes must divide the input")
        target[target.index(-1)] = size // known
    require_valid(prod(target) == size, "a reshape keeps the number of elements")
    return tuple(target)


def _draw_target(rng: np.random.Generator, inputs: Sequence[Tensor]) -> list[int]:
    target = list(factorise(inputs[0].size, int(rng.integers(1, MAX_RANK - 1))))
    if rng.random() < 0.3:
        target[int(rng.integers(len(target)))] = -1
    return target


def _permuted(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    dims = config["dims"]
    shape = inputs[0].shape
    require_valid(sorted(dims) == list(range(1, len(shape) + 1)), "dims must name every axis once")
    return tuple(shape[d - 1] for d in dims)


def _permutation_kind(dims: Any) -> str:
    if list(dims) == sorted(dims):
        return "identity"
    return "reversal" if list(dims) == sorted(dims, reverse=True) else "other"


declare(
    "Flatten",
    ANY_RANK,
    _flattened,
    (DATA_FORMAT,),
    out_ranks=lambda rank: frozenset({2}),
)
declare(
    "Reshape",
    ANY_RANK,
    _reshaped,
    (
        ShapeDependentParameter(
            "target_shape",
            None,
            tuple(f"{axes} axes" for axes in range(1, MAX_RANK - 1))
            + tuple(f"{axes} axes, one open" for axes in range(1, MAX_RANK - 1)),
            lambda t: f"{len(t)} axes" + (", one open" if -1 in t else ""),
            _draw_target,
            partial(are_whole, low=-1),
        ),
    ),
    out_ranks=lambda rank: frozenset(range(2, MAX_RANK + 1)),
)
declare(
    "Permute",
    frozenset({3, 4, 5}),
    _permuted,
    (
        ShapeDependentParameter(
            "dims",
            None,
            ("identity", "reversal", "other"),
            _permutation_kind,
            lambda rng, inputs: [int(d) + 1 for d in rng.permutation(inputs[0].rank - 1)],
            partial(are_whole, low=1),
        ),
    ),
)
declare(
    "RepeatVector",
    frozenset({2}),
    lambda config, inputs: (config["n"], inputs[0].shape[0]),
    (Number("n", 3, 1, 10),),
    out_ranks=lambda rank: frozenset({3}),
)

_Change = Callable[[int, int, int], int]


def _bordered(
    change: _Change, parameter: str, config: Config, inputs: Sequence[Tensor]
) -> tuple[int, ...]:
    """Cropping and padding: each axis grows or shrinks by what lies before and after it."""
    sizes, channels = split_shape(config, inputs[0])
    amounts = pairs_per_axis(config[parameter], len(sizes))
    changed = [change(n, *amount) for n, amount in zip(sizes, amounts, strict=True)]
    return join_shape(config, changed, channels)


def _border(name: str, axes: int) -> Parameter:
    kinds = ("none", "even", "uneven")

    def kind_of(value: Any) -> str:
        amounts = pairs_per_axis(value, axes)
        if not any(map(any, amounts)):
            return "none"
        return "even" if all(before == after for before, after in amounts) else "uneven"

    def draw(rng: np.random.Generator, inputs: Sequence[Tensor]) -> Any:
        kind = kinds[int(rng.integers(3))]
        if kind == "none":
            amounts = [[0, 0]] * axes
        elif kind == "even":
            amounts = [[int(v)] * 2 for v in rng.integers(0, 3, axes)]
        else:
            amounts = [[int(v) for v in rng.integers(0, 3, 2)] for _ in range(axes)]
        return amounts[0] if axes == 1 else amounts

    default = [1, 1] if axes == 1 else [[1, 1]] * axes

    def is_border(value: Any) -> bool:
        if is_whole(value, 0):
            return True
        if axes == 1:
            return are_whole(value, 0) and len(value) in (1, 2)
        each = value if isinstance(value, list | tuple) else ()
        return len(each) == axes and all(
            is_whole(one, 0) or (are_whole(one, 0) and len(one) == 2) for one in each
        )

    return ShapeDependentParameter(name, default, kinds, kind_of, draw, is_border)


_NEAREST_FIRST = ("nearest", "bilinear", "bicubic", "lanczos3")
_OTHER_INTERPOLATIONS = ("lanczos5",)


def _grown(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    sizes, channels = split_shape(config, inputs[0])
    factors = per_axis(config.get("size", 2), len(sizes))
    return join_shape(config, [n * f for n, f in zip(sizes, factors, strict=True)], channels)


for axes in (1, 2, 3):
    rank = frozenset({axes + 2})
    formats = (DATA_FORMAT,) if axes > 1 else ()
    declare(
        f"Cropping{axes}D",
        rank,
        partial(_bordered, lambda size, before, after: size - before - after, "cropping"),
        (_border("cropping", axes), *formats),
    )
    declare(
        f"ZeroPadding{axes}D",
        rank,
        partial(_bordered, lambda size, before, after: size + before + after, "padding"),
        (_border("padding", axes), *((DATA_FORMAT,))),
    )
    interpolations = (
        (Choice("interpolation", "nearest", _NEAREST_FIRST, _OTHER_INTERPOLATIONS),)
        if axes == 2
        else ()
    )
    size: Parameter = (
        Number("size", 2, 1, 5) if axes == 1 else Sizes("size", [2] * axes, axes, 1, 4)
    )
    declare(f"UpSampling{axes}D", rank, _grown, (size, *formats, *interpolations))


def _resized(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    _, channels = split_shape(config, inputs[0])
    both = config.get("crop_to_aspect_ratio") and config.get("pad_to_aspect_ratio")
    require_valid(not both, "an image is cropped or padded")
    return join_shape(config, [config["height"], config["width"]], channels)


_HEIGHT_WIDTH = (Number("height", 6, 1, 20), Number("width", 6, 1, 20))
declare(
    "Resizing",
    frozenset({4}),
    _resized,
    (
        *_HEIGHT_WIDTH,
        Choice(
            "interpolation",
            "bilinear",
            ("bilinear", "nearest", "bicubic", "lanczos3"),
            _OTHER_INTERPOLATIONS,
        ),
        flag("crop_to_aspect_ratio", False),
        flag("pad_to_aspect_ratio", False),
        flag("antialias", False),
        DATA_FORMAT,
    ),
    in_paper=False,
)
declare(
    "CenterCrop",
    frozenset({4}),
    _resized,
    (*_HEIGHT_WIDTH, DATA_FORMAT),
    in_paper=False,
)
