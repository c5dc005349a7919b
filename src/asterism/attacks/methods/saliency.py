"""JSMA: an attack on the pixels that a Jacobian-based saliency map marks as most influential."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from asterism.attacks.attack import ATTACKS, Attack, AttackSeeds, Floats
from asterism.core.parameters.params import ParameterSection
from asterism.core.randomness.random_streams import stream

if TYPE_CHECKING:
    from asterism.attacks.estimator import PixelEstimator


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
