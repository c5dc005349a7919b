"""Attacks along the sign of the loss's gradient."""

from __future__ import annotations

from pydantic import Field

from asterism.attacks.attack import ATTACKS, Attack, AttackSeeds, Estimator, Floats
from asterism.core.parameters.params import ParameterSection


@ATTACKS.register("fgsm")
class FastGradientSign(Attack):
    """One step along the gradient's sign (Goodfellow et al., ICLR 2015)."""

    class Options(ParameterSection):
        """How long the step is."""

        eps: float = Field(gt=0, le=1, description="largest change of a pixel in [0, 1]")

    needs_classifier = False
    through_time = True

    def perturb(self, estimator: Estimator, victims: AttackSeeds) -> Floats:
        """ART's FastGradientMethod, without random start."""
        from art.attacks.evasion import FastGradientMethod

        attack = FastGradientMethod(estimator, eps=self.options.eps, batch_size=self.batch)
        adversarial: Floats = attack.generate(victims.images, estimator.aim(victims))
        return adversarial


@ATTACKS.register("bim")
class BasicIterative(Attack):
    """Small steps along the gradient's sign, projected (Kurakin et al., ICLR 2017)."""

    class Options(ParameterSection):
        """How long the steps are, how many, and how far they lead."""

        eps: float = Field(gt=0, le=1, description="largest change of a pixel in [0, 1]")
        step: float = Field(gt=0, le=1, description="change of a pixel in one iteration")
        iterations: int = Field(ge=1, description="steps")

    needs_classifier = False
    through_time = True

    def perturb(self, estimator: Estimator, victims: AttackSeeds) -> Floats:
        """ART's BasicIterativeMethod."""
        from art.attacks.evasion import BasicIterativeMethod

        attack = BasicIterativeMethod(
            estimator,
            eps=self.options.eps,
            eps_step=self.options.step,
            max_iter=self.options.iterations,
            batch_size=self.batch,
            verbose=False,
        )
        adversarial: Floats = attack.generate(victims.images, estimator.aim(victims))
        return adversarial
