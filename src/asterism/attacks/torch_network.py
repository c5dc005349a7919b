"""Networks of PyTorch on pixels in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from asterism.attacks.methods import Floats
from asterism.models.formats import as_array
from asterism.models.images_and_scores import PreprocessingParams


class TorchNetwork:
    """A function of tensors on pixels; see :class:`.PixelNetwork`.

    Args:
        function: outputs ``(N, K)`` of pictures ``(N, C, H, W)``, preprocessed.
        preprocessing: from uint8 images to these; pixels in [0, 1] are images over 255.
        shape: of one input, ``(H, W, C)``.
        width: K.
        like: a tensor of the type and on the device that the function takes.
    """

    def __init__(
        self,
        function: Callable[[torch.Tensor], torch.Tensor],
        preprocessing: PreprocessingParams,
        shape: tuple[int, ...],
        width: int,
        like: torch.Tensor,
    ) -> None:
        self.shape, self.width, self._function, self._like = shape, width, function, like
        factor, shift = preprocessing.affine()
        self._factor, self._shift = (self._tensor(part) for part in (255 * factor, shift))

    def outputs(self, pixels: Floats) -> Floats:
        """See :meth:`.PixelNetwork.outputs`."""
        with torch.no_grad():
            return self._array(self._answer(self._tensor(pixels)))

    def gradient(self, pixels: Floats, weigh: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        """See :meth:`.PixelNetwork.gradient`."""
        given = self._tensor(pixels).requires_grad_()
        with torch.enable_grad():
            found = self._answer(given)
        outputs = self._array(found.detach())
        (gradient,) = torch.autograd.grad(found, given, self._tensor(weigh(outputs)))
        return outputs, self._array(gradient)

    def loss_gradient(self, pixels: Floats, targets: Floats) -> Floats:
        """See :meth:`.PixelNetwork.loss_gradient`."""
        wanted = self._tensor(targets)
        return self.gradient(
            pixels, lambda logits: self._array(self._tensor(logits).softmax(1) - wanted)
        )[1]

    def _answer(self, pixels: torch.Tensor) -> torch.Tensor:
        return self._function((pixels * self._factor + self._shift).movedim(-1, 1))

    def _tensor(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.tensor(array).to(self._like)

    @staticmethod
    def _array(tensor: torch.Tensor) -> Floats:
        return as_array(tensor).astype(np.float32, copy=False)
