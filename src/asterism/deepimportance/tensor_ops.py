"""The operations on tensors that rules of relevance are made of, in TensorFlow or in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

#: A tensor of TensorFlow or of PyTorch.
Tensor = Any


@dataclass(frozen=True)
class TensorOps:
    """The operations of one library.

    Attributes:
        constant: of an array and a tensor, the array as a tensor like that: of its dtype, where it
            lies.
        spread: of two tensors, the first broadcast to the shape of the second.
        positive: ``max(x, 0)``.
        negative: ``min(x, 0)``.
        where: of a mask and two values, the first where the mask holds, else the second.
        total: the sum of tensors of one shape.
        mean: of a tensor and axes, its mean along these, which keep the length 1.
        ratio: ``x / y``, and 0 where ``y`` is 0.
        gradient: of a function, its inputs and weights of its output, the weighted output's
            gradient by each input; None for an input that is no tensor of real numbers.
        if_any: of a mask and two functions, what the first gives where the mask holds anywhere,
            else what the second gives, of the same shape.
    """

    constant: Callable[[Any, Tensor], Tensor]
    spread: Callable[[Tensor, Tensor], Tensor]
    positive: Callable[[Tensor], Tensor]
    negative: Callable[[Tensor], Tensor]
    where: Callable[[Tensor, Any, Any], Tensor]
    total: Callable[[Sequence[Tensor]], Tensor]
    mean: Callable[[Tensor, Sequence[int]], Tensor]
    ratio: Callable[[Tensor, Tensor], Tensor]
    gradient: Callable[[Callable[..., Tensor], Sequence[Any], Tensor], list[Any]]
    if_any: Callable[[Tensor, Callable[[], Tensor], Callable[[], Tensor]], Tensor]


def find_tensor_ops(tensor: Tensor) -> TensorOps:
    """The operations of a tensor's library."""
    if type(tensor).__module__.partition(".")[0] == "torch":
        return _of_torch()
    return _of_tensorflow()


@cache
def _of_tensorflow() -> TensorOps:
    """Operations on tensors of TensorFlow, which may be part of a compiled graph."""
    import tensorflow as tf

    def gradient(function: Callable[..., Tensor], xs: Sequence[Any], weights: Tensor) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(xs)
            output = function(*xs)
        found: list[Any] = tape.gradient(output, xs, weights)
        return found

    return TensorOps(
        constant=lambda array, like: tf.constant(array, like.dtype),
        spread=lambda x, like: tf.broadcast_to(x, tf.shape(like)),
        positive=lambda x: tf.maximum(x, 0),
        negative=lambda x: tf.minimum(x, 0),
        where=tf.where,
        total=tf.add_n,
        mean=lambda x, axes: tf.reduce_mean(x, axes, keepdims=True),
        ratio=tf.math.divide_no_nan,
        gradient=gradient,
        if_any=lambda mask, then, otherwise: tf.cond(tf.reduce_any(mask), then, otherwise),
    )


@cache
def _of_torch() -> TensorOps:
    """Operations on tensors of PyTorch."""
    import torch

    def is_real(x: Any) -> bool:
        return isinstance(x, torch.Tensor) and x.is_floating_point()

    def gradient(function: Callable[..., Tensor], xs: Sequence[Any], weights: Tensor) -> list[Any]:
        given = [x.detach().requires_grad_() if is_real(x) else x for x in xs]
        watched = [x for x in given if is_real(x)]
        with torch.enable_grad():
            found = iter(torch.autograd.grad(function(*given), watched, weights))
        return [next(found) if is_real(x) else None for x in given]

    return TensorOps(
        constant=lambda array, like: torch.as_tensor(array, dtype=like.dtype, device=like.device),
        spread=lambda x, like: x.expand_as(like),
        positive=lambda x: x.clamp(min=0),
        negative=lambda x: x.clamp(max=0),
        where=torch.where,
        total=lambda xs: torch.stack(list(xs)).sum(0) if len(xs) > 1 else xs[0],
        mean=lambda x, axes: x.mean(tuple(axes), keepdim=True),
        ratio=lambda x, y: torch.where(y == 0, torch.zeros_like(x), x / y),
        gradient=gradient,
        if_any=lambda mask, then, otherwise: then() if bool(mask.any()) else otherwise(),
    )
