"""Attacks of ART: along the sign of the loss's gradient, and on the most influential pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from asterism.attacks.methods import ATTACKS, Attack, AttackSeeds, Estimator, Floats
from asterism.core.parameters.params import ParameterSection
from asterism.core.random_streams import stream

if TYPE_CHECKING:
    from asterism.attacks.estimator import PixelEstimator


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


@ATTACKS.register("jsma")
class SaliencyMap(Attack):
    """Jacobian-based saliency map attack (Papernot et al., EuroS&P 2016).

    Targeted: each input's target is another class, drawn from the input's own stream.
    """

    class Options(ParameterSection):
        """How much may change."""

        theta: float = Field(gt=0, le=1, description="change of a pixel in one step")
        gamma: float = Field(gt=0, le=1, description="largest share of the pixels that may change")

    def perturb(self, estimator: PixelEstimator, victims: AttackSeeds) -> Floats:
        """ART's SaliencyMapMethod."""
        from art.attacks.evasion import SaliencyMapMethod

        classes = estimator.nb_classes
        steps = [
            int(stream(victims.seed, "attack", "jsma", int(source)).integers(1, classes))
            for source in victims.sources
        ]
        targets = (victims.labels + np.asarray(steps)) % classes
        attack = SaliencyMapMethod(
            estimator,
            theta=self.options.theta,
            gamma=self.options.gamma,
            batch_size=self.batch,
            verbose=False,
        )
        wanted = np.eye(classes, dtype=np.float32)[targets]
        adversarial: Floats = attack.generate(victims.images, wanted)
        return adversarial
