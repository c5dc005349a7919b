"""The operations on tensors that rules of relevance are made of, in TensorFlow or in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    ratio: Callable[[Tensor, Tensor], Tensor]
    gradient: Callable[[Callable[..., Tensor], Sequence[Any], Tensor], list[Any]]
    if_any: Callable[[Tensor, Callable[[], Tensor], Callable[[], Tensor]], Tensor]
