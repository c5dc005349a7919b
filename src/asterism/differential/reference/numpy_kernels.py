"""Convolution and pooling in plain NumPy, which Keras' NumPy backend borrows from JAX otherwise.

Written from their definitions, in any floating dtype and with any number of spatial axes. The
reference that uses them shares no kernel with a library under test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: What is put before and behind each axis.
Pads = Sequence[tuple[int, int]]


class LayoutAxes(NamedTuple):
    """Where batch, channels and the spatial axes are, in this order."""

    inputs: tuple[int, ...]
    kernel: tuple[int, ...]
    outputs: tuple[int, ...]


def install_kernels() -> None:
    """Let Keras' NumPy backend, which is imported already, compute with NumPy alone."""
    from keras.src.backend.numpy import nn

    lax = SimpleNamespace(
        max=np.maximum,
        add=np.add,
        reduce_window=pooled,
        conv_general_dilated=convolved,
        conv_transpose=transposed,
        ConvDimensionNumbers=_axes,
    )
    nn.lax, nn.jax = lax, SimpleNamespace(lax=lax)


def pooled(
    inputs: Array,
    initial: float,
    reduce: Callable[[Array, Array], Array],
    window: Sequence[int],
    strides: Sequence[int],
    padding: str,
) -> Array:
    """Each window of all axes reduced to a number.

    Args:
        inputs: any shape.
        initial: what is reduced with each window, and what it is padded with.
        reduce: of two arrays, element by element.
        window: size along each axis.
        strides: steps along each axis.
        padding: ``VALID`` or ``SAME``.
    """
    pads = compute_padding(padding, inputs.shape, window, strides)
    padded = np.pad(inputs, pads, constant_values=initial)
    counts = [(p - w) // s + 1 for p, w, s in zip(padded.shape, window, strides, strict=True)]
    result = np.full([max(c, 0) for c in counts], initial, inputs.dtype)
    for offset in product(*map(range, window)):
        result = reduce(result, padded[_every(offset, strides, counts)])
    return result


def convolved(
    inputs: Array,
    kernel: Array,
    strides: Sequence[int],
    padding: str | Pads,
    rhs_dilation: Sequence[int],
    dimension_numbers: LayoutAxes,
    feature_group_count: int = 1,
) -> Array:
    """The convolution of machine learning: a correlation, summed over input channels.

    Args:
        inputs: axes as ``dimension_numbers`` say.
        kernel: the same; its channels are (of outputs, of one group's inputs).
        strides: steps along each spatial axis.
        padding: ``VALID``, ``SAME``, or zeros before and behind each spatial axis.
        rhs_dilation: distance of the kernel's numbers along each spatial axis.
        dimension_numbers: the order of axes.
        feature_group_count: groups of channels that have nothing to do with each other.
    """
    x, k = inputs.transpose(dimension_numbers.inputs), kernel.transpose(dimension_numbers.kernel)
    size = k.shape[2:]
    if isinstance(padding, str):
        reach = [(n - 1) * d + 1 for n, d in zip(size, rhs_dilation, strict=True)]
        padding = compute_padding(padding.upper(), x.shape[2:], reach, strides)
    x = np.pad(x, [(0, 0), (0, 0), *padding])
    counts = [
        max((p - (n - 1) * d - 1) // s + 1, 0)
        for p, n, d, s in zip(x.shape[2:], size, rhs_dilation, strides, strict=True)
    ]
    groups = feature_group_count
    x = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    k = k.reshape(groups, k.shape[0] // groups, *k.shape[1:])
    result = np.zeros((groups, x.shape[0], k.shape[1], prod(counts)), inputs.dtype)
    for offset in product(*map(range, size)):
        begin = [o * d for o, d in zip(offset, rhs_dilation, strict=True)]
        window: Any = (..., *_every(begin, strides, counts))
        weights: Any = (..., *offset)
        seen = x[window]
        seen = seen.reshape(*seen.shape[:3], prod(counts)).transpose(1, 0, 2, 3)
        result += k[weights][:, None] @ seen
    result = result.transpose(1, 0, 2, 3).reshape(x.shape[0], groups * k.shape[1], *counts)
    return result.transpose(np.argsort(dimension_numbers.outputs))


def transposed(
    inputs: Array,
    kernel: Array,
    strides: Sequence[int],
    padding: Pads,
    rhs_dilation: Sequence[int],
    dimension_numbers: LayoutAxes,
    transpose_kernel: bool,
) -> Array:
    """The transpose of a convolution: a convolution of the inputs with zeros between them.

    Args:
        inputs: axes as ``dimension_numbers`` say.
        kernel: that of the convolution whose transpose this is.
        strides: distance of the inputs in what is convolved.
        padding: zeros before and behind each spatial axis of it.
        rhs_dilation: distance of the kernel's numbers.
        dimension_numbers: the order of axes.
        transpose_kernel: whether the kernel is turned round and its channels are swapped.
    """
    axes = dimension_numbers
    x = inputs.transpose(axes.inputs)
    sizes = [max((n - 1) * s + 1, 0) for n, s in zip(x.shape[2:], strides, strict=True)]
    spread = np.zeros((*x.shape[:2], *sizes), x.dtype)
    apart: Any = (..., *(slice(None, None, s) for s in strides))
    spread[apart] = x
    k = kernel.transpose(axes.kernel)
    if transpose_kernel:
        k = np.flip(k, tuple(range(2, k.ndim))).swapaxes(0, 1)
    plain = LayoutAxes(*(tuple(range(x.ndim)),) * 3)
    ones = (1,) * len(sizes)
    result = convolved(_cropped(spread, padding), k, ones, _grown(padding), rhs_dilation, plain)
    return result.transpose(np.argsort(axes.outputs))


def compute_padding(
    kind: str,
    shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
) -> list[tuple[int, int]]:
    """Zeros before and behind each axis. With ``SAME`` the larger half is behind."""
    if kind == "VALID":
        return [(0, 0)] * len(shape)
    pads = []
    for size, reach, stride in zip(shape, window, strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + reach - size, 0)
        pads.append((total // 2, total - total // 2))
    return pads


def _axes(lhs_spec: Any, rhs_spec: Any, out_spec: Any) -> LayoutAxes:
    return LayoutAxes(tuple(lhs_spec), tuple(rhs_spec), tuple(out_spec))


def _every(
    begin: Sequence[int], strides: Sequence[int], counts: Sequence[int]
) -> tuple[slice, ...]:
    """So many numbers along each axis, with steps between."""
    each = zip(begin, strides, counts, strict=True)
    return tuple(slice(b, b + s * max(c - 1, 0) + (c > 0), s) for b, s, c in each)


def _cropped(array: Array, pads: Pads) -> Array:
    """Without what negative padding takes away."""
    sizes = zip(pads, array.shape[2:], strict=True)
    kept: Any = (..., *(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in sizes))
    result: Array = array[kept]
    return result


def _grown(pads: Pads) -> list[tuple[int, int]]:
    return [(max(a, 0), max(b, 0)) for a, b in pads]
