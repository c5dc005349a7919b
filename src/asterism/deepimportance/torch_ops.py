"""Operations on tensors of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from asterism.deepimportance.tensor_ops import Tensor, TensorOps


def _gradient(function: Callable[..., Tensor], xs: Sequence[Any], weights: Tensor) -> list[Any]:
    given = [x.detach().requires_grad_() if _is_real(x) else x for x in xs]
    watched = [x for x in given if _is_real(x)]
    with torch.enable_grad():
        found = iter(torch.autograd.grad(function(*given), watched, weights))
    return [next(found) if _is_real(x) else None for x in given]


def _is_real(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.is_floating_point()


TORCH = TensorOps(
    constant=lambda array, like: torch.as_tensor(array, dtype=like.dtype, device=like.device),
    spread=lambda x, like: x.expand_as(like),
    positive=lambda x: x.clamp(min=0),
    negative=lambda x: x.clamp(max=0),
    where=torch.where,
    total=lambda xs: torch.stack(list(xs)).sum(0) if len(xs) > 1 else xs[0],
    ratio=lambda x, y: torch.where(y == 0, torch.zeros_like(x), x / y),
    gradient=_gradient,
    if_any=lambda mask, then, otherwise: then() if bool(mask.any()) else otherwise(),
)
