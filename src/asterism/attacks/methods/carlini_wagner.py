"""Carlini and Wagner's L2 attack.

"Towards evaluating the robustness of neural networks", S&P 2017, sections V-B and VI-A.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from asterism.attacks.attack import ATTACKS, Attack, Floats, Victims
from asterism.core.messages.console import progress
from asterism.core.parameters.params import Section

if TYPE_CHECKING:
    from asterism.attacks.estimator import PixelEstimator


@ATTACKS.register("carlini_wagner")
class CarliniWagner(Attack):
    """The smallest change, in L2, that makes another class win."""

    class Options(Section):
        """Foolbox's, and a number of inputs of its own."""

        inputs: int | None = Field(
            ge=1,
            description="inputs to start from; null: as many as the others. It is the slow one",
        )
        confidence: float = Field(ge=0, description="margin by which the wrong class must win")
        learning_rate: float = Field(gt=0, description="of Adam")
        binary_search_steps: int = Field(ge=1, description="trials of the trade-off constant")
        iterations: int = Field(ge=1, description="largest number of Adam's steps in each trial")
        abort_early: bool = Field(description="end an input's trial when its loss stops falling")
        initial_const: float = Field(gt=0, description="first trade-off constant")

    def __init__(self, options: Options, inputs: int, batch: int) -> None:
        own = options.inputs
        super().__init__(options, inputs if own is None else min(own, inputs), batch)

    def perturb(self, estimator: PixelEstimator, victims: Victims) -> Floats:
        """Foolbox's L2CarliniWagnerAttack; an input itself where none is found.

        Inputs go one by one, as in the DeepImportance study: Foolbox ends a trial early for a
        whole batch at once.
        """
        import torch
        from foolbox.attacks.carlini_wagner import L2CarliniWagnerAttack
        from foolbox.criteria import Misclassification
        from foolbox.models.pytorch import PyTorchModel

        from asterism.attacks.torch_logits import TorchLogits

        attack = L2CarliniWagnerAttack(
            binary_search_steps=self.options.binary_search_steps,
            steps=self.options.iterations,
            stepsize=self.options.learning_rate,
            confidence=self.options.confidence,
            initial_const=self.options.initial_const,
            abort_early=self.options.abort_early,
        )
        model = PyTorchModel(TorchLogits(estimator).eval(), bounds=(0, 1), device="cpu")
        images, labels = torch.tensor(victims.images), torch.tensor(victims.labels)
        nearest = victims.images.copy()
        for i in progress(range(len(images)), label="carlini_wagner", unit="input"):
            one = slice(i, i + 1)
            found = attack.run(model, images[one], Misclassification(labels[one])).numpy()
            # What Foolbox gives back where it found nothing is all black.
            if found.any():
                nearest[one] = found
        return nearest
