"""Arithmetic of shapes that layers, repairs and reduction share, and the parameters behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asterism.memo.universe.parameters import Choice
from asterism.memo.universe.tensors import Config, Tensor

DATA_FORMAT = Choice("data_format", "channels_last", ("channels_last", "channels_first"))
PADDING = Choice("padding", "valid", ("valid", "same"))


def flag(name: str, default: bool) -> Choice:
    """A parameter that is on or off."""
    return Choice(name, default, (True, False))


def split_shape(config: Config, tensor: Tensor) -> tuple[tuple[int, ...], int]:
    """Spatial sizes and number of channels of an input, by the layer's data format."""
    if config.get("data_format", "channels_last") == "channels_first":
        return tensor.shape[1:], tensor.shape[0]
    return tensor.shape[:-1], tensor.shape[-1]


def join_shape(config: Config, sizes: Sequence[int], channels: int) -> tuple[int, ...]:
    """The shape with these spatial sizes and channels, by the layer's data format."""
    if config.get("data_format", "channels_last") == "channels_first":
        return (channels, *sizes)
    return (*sizes, channels)


def per_axis(value: Any, axes: int) -> list[int]:
    """A number for each axis, where Keras also takes one for all."""
    return [int(v) for v in value] if isinstance(value, list | tuple) else [int(value)] * axes


def window_output(size: int, window: int, stride: int, padding: str, dilation: int = 1) -> int:
    """Length of an axis after a sliding window; 0 or less where the window does not fit."""
    if padding == "valid":
        return (size - dilation * (window - 1) - 1) // stride + 1
    return -(-size // stride)


def pairs_per_axis(value: Any, axes: int) -> list[tuple[int, int]]:
    """Amounts before and after on each axis, from any of the forms that Keras takes."""
    if isinstance(value, int):
        return [(value, value)] * axes
    if axes == 1 and len(value) == 2 and all(isinstance(v, int) for v in value):
        return [(value[0], value[1])]
    return [(v, v) if isinstance(v, int) else (int(v[0]), int(v[1])) for v in value]


def factorise(size: int, axes: int) -> tuple[int, ...]:
    """``axes`` numbers whose product is ``size``, the early ones (spatial) about equal.

    A prime size gives ``(size, 1, …)``: every size has a factorisation.
    """
    factors = [1] * axes
    rest = size
    for at in range(axes - 1):
        goal = round(rest ** (1 / (axes - at)))
        factor = next((f for f in range(max(goal, 1), 0, -1) if rest % f == 0), 1)
        factors[at] = factor
        rest //= factor
    factors[-1] = rest
    return (*sorted(factors[:-1], reverse=True), factors[-1])
