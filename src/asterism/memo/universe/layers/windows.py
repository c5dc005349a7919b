"""Layers that see a window: convolutions of one to three axes, and pooling.

Convolutions are plain, separable, depthwise and transposed; pooling is over windows, over
everything, and down to a given size.
"""

from __future__ import annotations

from collections.abc import Sequence

from asterism.memo.universe.keras_options import activation, kernel, vector
from asterism.memo.universe.layers import declare
from asterism.memo.universe.parameters import Choice, Number, Parameter, Sizes
from asterism.memo.universe.shapes import (
    DATA_FORMAT,
    PADDING,
    flag,
    join_shape,
    per_axis,
    split_shape,
    window_output,
)
from asterism.memo.universe.tensors import Config, Tensor, require_valid

FILTERS = Number("filters", 4, 1, 20)


def _sliding(config: Config, axes: int) -> tuple[list[int], list[int], list[int]]:
    """Windows, strides and dilations; Keras rejects a convolution that is strided and dilated."""
    strides = per_axis(config.get("strides", 1), axes)
    dilations = per_axis(config.get("dilation_rate", 1), axes)
    both = max(strides) > 1 and max(dilations) > 1
    require_valid(not both, "strides and dilation exclude each other")
    return per_axis(config["kernel_size"], axes), strides, dilations


def convolved_sizes(config: Config, sizes: Sequence[int]) -> list[int]:
    """Spatial sizes after a convolution."""
    windows, strides, dilations = _sliding(config, len(sizes))
    padding = config.get("padding", "valid")
    return [
        window_output(size, window, stride, padding, dilation)
        for size, window, stride, dilation in zip(sizes, windows, strides, dilations, strict=True)
    ]


def _convolved(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    sizes, channels = split_shape(config, inputs[0])
    groups, filters = config.get("groups", 1), config["filters"]
    require_valid(channels % groups == 0, "groups must divide the channels")
    require_valid(filters % groups == 0, "groups must divide the filters")
    causal_first = config.get("padding") == "causal" and (
        config.get("data_format") == "channels_first"
    )
    require_valid(not causal_first, "causal padding wants the channels last")
    return join_shape(config, convolved_sizes(config, sizes), filters)


def _separable(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    sizes, _ = split_shape(config, inputs[0])
    return join_shape(config, convolved_sizes(config, sizes), config["filters"])


def _depthwise(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    sizes, channels = split_shape(config, inputs[0])
    return join_shape(
        config, convolved_sizes(config, sizes), channels * config.get("depth_multiplier", 1)
    )


def _transposed(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    sizes, _ = split_shape(config, inputs[0])
    windows, strides, dilations = _sliding(config, len(sizes))
    reaches = [(w - 1) * d + 1 for w, d in zip(windows, dilations, strict=True)]
    if config.get("padding", "valid") == "same":
        grown = [n * s for n, s in zip(sizes, strides, strict=True)]
    else:
        grown = [(n - 1) * s + max(r, s) for n, s, r in zip(sizes, strides, reaches, strict=True)]
    return join_shape(config, grown, config["filters"])


def _window(axes: int, equal_strides: bool = False) -> tuple[Parameter, ...]:
    return (
        Sizes("kernel_size", [3] * axes, axes, 1, 5),
        Sizes("strides", [1] * axes, axes, 1, 3, equal=equal_strides),
        PADDING,
        DATA_FORMAT,
        Sizes("dilation_rate", [1] * axes, axes, 1, 3, equal=equal_strides),
    )


_BIAS = (activation(), flag("use_bias", True), *vector())

for axes in (1, 2, 3):
    rank = frozenset({axes + 2})
    window = _window(axes)
    if axes == 1:
        padding = Choice("padding", "valid", ("valid", "same", "causal"))
        window = tuple(padding if p is PADDING else p for p in window)
    declare(
        f"Conv{axes}D",
        rank,
        _convolved,
        (FILTERS, *window, Number("groups", 1, 1, 4), *_BIAS, *kernel()),
    )
    declare(
        f"Conv{axes}DTranspose", rank, _transposed, (FILTERS, *_window(axes), *_BIAS, *kernel())
    )

for axes in (1, 2):
    rank = frozenset({axes + 2})
    # TensorFlow's depthwise kernels take one stride and one dilation for both axes.
    window = (*_window(axes, equal_strides=True), Number("depth_multiplier", 1, 1, 4))
    declare(
        f"SeparableConv{axes}D",
        rank,
        _separable,
        (FILTERS, *window, *_BIAS, *kernel("depthwise"), *kernel("pointwise")),
    )
    declare(f"DepthwiseConv{axes}D", rank, _depthwise, (*window, *_BIAS, *kernel("depthwise")))


def _windowed(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    sizes, channels = split_shape(config, inputs[0])
    windows = per_axis(config.get("pool_size", 2), len(sizes))
    strides = config.get("strides")
    steps = windows if strides is None else per_axis(strides, len(sizes))
    padding = config.get("padding", "valid")
    pooled = [window_output(*axis, padding) for axis in zip(sizes, windows, steps, strict=True)]
    return join_shape(config, pooled, channels)


def _global(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    sizes, channels = split_shape(config, inputs[0])
    return join_shape(config, [1] * len(sizes), channels) if config.get("keepdims") else (channels,)


def _adaptive(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    sizes, channels = split_shape(config, inputs[0])
    wanted = per_axis(config["output_size"], len(sizes))
    require_valid(
        all(n >= m for n, m in zip(sizes, wanted, strict=True)), "adaptive pooling only shrinks"
    )
    return join_shape(config, wanted, channels)


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
