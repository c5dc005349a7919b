"""Pooling: over windows, over everything, and down to a given size."""

from __future__ import annotations

from collections.abc import Sequence

from asterism.memo.universe.parameters import Sizes
from asterism.memo.universe.shapes import (
    DATA_FORMAT,
    PADDING,
    flag,
    join,
    per_axis,
    split,
    window_output,
)
from asterism.memo.universe.spec import declare
from asterism.memo.universe.tensors import Config, Tensor, require


def _windowed(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    sizes, channels = split(config, inputs[0])
    windows = per_axis(config.get("pool_size", 2), len(sizes))
    strides = config.get("strides")
    steps = windows if strides is None else per_axis(strides, len(sizes))
    padding = config.get("padding", "valid")
    pooled = [window_output(*axis, padding) for axis in zip(sizes, windows, steps, strict=True)]
    return join(config, pooled, channels)


def _global(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    sizes, channels = split(config, inputs[0])
    return join(config, [1] * len(sizes), channels) if config.get("keepdims") else (channels,)


def _adaptive(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    sizes, channels = split(config, inputs[0])
    wanted = per_axis(config["output_size"], len(sizes))
    require(
        all(n >= m for n, m in zip(sizes, wanted, strict=True)), "adaptive pooling only shrinks"
    )
    return join(config, wanted, channels)


for axes in (1, 2, 3):
    rank = frozenset({axes + 2})
    for kind in ("Max", "Average"):
        declare(
            f"{kind}Pooling{axes}D",
            rank,
            _windowed,
            (
                Sizes("pool_size", [2] * axes, axes, 1, 4),
                Sizes("strides", [2] * axes, axes, 1, 4),
                PADDING,
                DATA_FORMAT,
            ),
        )
        declare(
            f"Global{kind}Pooling{axes}D",
            rank,
            _global,
            (DATA_FORMAT, flag("keepdims", False)),
            out_ranks=lambda rank: frozenset({2, rank}),
        )
        declare(
            f"Adaptive{kind}Pooling{axes}D",
            rank,
            _adaptive,
            (Sizes("output_size", [2] * axes, axes, 1, 5), DATA_FORMAT),
            in_paper=False,
        )
