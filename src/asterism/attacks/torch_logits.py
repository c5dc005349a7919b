"""A classifier's logits on pixels as a PyTorch module, for attacks that are written in PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from asterism.attacks.estimator import PixelEstimator


class TorchLogits(torch.nn.Module):
    """Logits ``(N, classes)`` of pixels ``(N, H, W, C)``.

    A step of an attack is a hundred operations on small arrays, which PyTorch runs in a third of
    the time that TensorFlow takes where they are not compiled.
    """

    def __init__(self, estimator: PixelEstimator) -> None:
        super().__init__()
        self._estimator = estimator

    def forward(self, pixels: torch.Tensor) -> Any:
        """Logits ``(N, classes)``."""
        return _Logits.apply(pixels, self._estimator)  # type: ignore[no-untyped-call]  # torch's


class _Logits(torch.autograd.Function):
    """Compiled TensorFlow graphs as one differentiable operation of PyTorch's."""

    @staticmethod
    def forward(context: Any, pixels: torch.Tensor, estimator: PixelEstimator) -> torch.Tensor:
        context.save_for_backward(pixels)
        context.estimator = estimator
        return torch.from_numpy(estimator.predict(pixels.detach().numpy()))

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        (pixels,) = context.saved_tensors
        gradient = context.estimator.weighted_gradient(pixels.numpy(), gradients[0].numpy())
        return torch.from_numpy(gradient), None
