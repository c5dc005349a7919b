"""Operations on tensors of TensorFlow, which may be part of a compiled graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from asterism.deepimportance.tensor_ops import Tensor, TensorOps


def _gradient(function: Callable[..., Tensor], xs: Sequence[Any], weights: Tensor) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch(xs)
        output = function(*xs)
    found: list[Any] = tape.gradient(output, xs, weights)
    return found


TENSORFLOW = TensorOps(
    constant=lambda array, like: tf.constant(array, like.dtype),
    spread=lambda x, like: tf.broadcast_to(x, tf.shape(like)),
    positive=lambda x: tf.maximum(x, 0),
    negative=lambda x: tf.minimum(x, 0),
    where=tf.where,
    total=tf.add_n,
    ratio=tf.math.divide_no_nan,
    gradient=_gradient,
    if_any=lambda mask, then, otherwise: tf.cond(tf.reduce_any(mask), then, otherwise),
)
