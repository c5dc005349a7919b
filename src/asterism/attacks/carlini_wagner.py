"""Carlini and Wagner's L2 attack.

"Towards evaluating the robustness of neural networks", S&P 2017, sections V-B and VI-A.
"""

from __future__ import annotations

from typing import Any

import torch
from foolbox.attacks.carlini_wagner import L2CarliniWagnerAttack
from foolbox.criteria import Misclassification
from foolbox.models.pytorch import PyTorchModel

from asterism.attacks.attack import ATTACKS, Attack, Floats, Victims
from asterism.attacks.estimator import PixelEstimator
from asterism.core.console import progress


@ATTACKS.register("carlini_wagner")
class CarliniWagner(Attack):
    """The smallest change, in L2, that makes another class win."""

    @property
    def inputs(self) -> int:
        """How many inputs it starts from: its own number, where it has one."""
        own = self.params.carlini_wagner.inputs
        return self.params.inputs if own is None else min(own, self.params.inputs)

    def perturb(self, estimator: PixelEstimator, victims: Victims) -> Floats:
        """Foolbox's L2CarliniWagnerAttack; an input itself where none is found.

        Inputs go one by one, as in the DeepImportance study: Foolbox ends a trial early for a
        whole batch at once.
        """
        settings = self.params.carlini_wagner
        attack = L2CarliniWagnerAttack(
            binary_search_steps=settings.binary_search_steps,
            steps=settings.iterations,
            stepsize=settings.learning_rate,
            confidence=settings.confidence,
            initial_const=settings.initial_const,
            abort_early=settings.abort_early,
        )
        model = PyTorchModel(_InTorch(estimator).eval(), bounds=(0, 1), device="cpu")
        images, labels = torch.tensor(victims.images), torch.tensor(victims.labels)
        nearest = victims.images.copy()
        for i in progress(range(len(images)), label="carlini_wagner", unit="input"):
            one = slice(i, i + 1)
            found = attack.run(model, images[one], Misclassification(labels[one])).numpy()
            # What Foolbox gives back where it found nothing is all black.
            if found.any():
                nearest[one] = found
        return nearest


class _InTorch(torch.nn.Module):
    """A classifier's logits, as a PyTorch module of pixels.

    A step of the attack is a hundred operations on small arrays, which PyTorch runs in a third of
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
