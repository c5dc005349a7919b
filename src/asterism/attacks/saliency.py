"""Attack on the pixels that a Jacobian marks as most telling."""

from __future__ import annotations

import numpy as np
from art.attacks.evasion import SaliencyMapMethod

from asterism.attacks.attack import ATTACKS, Attack, Floats, Victims
from asterism.attacks.estimator import PixelEstimator
from asterism.core.streams import stream


@ATTACKS.register("jsma")
class SaliencyMap(Attack):
    """Jacobian-based saliency map attack (Papernot et al., EuroS&P 2016).

    Targeted: each input's target is another class, drawn from the input's own stream.
    """

    def perturb(self, estimator: PixelEstimator, victims: Victims) -> Floats:
        """ART's SaliencyMapMethod."""
        classes = estimator.nb_classes
        steps = [
            int(stream(victims.seed, "attack", "jsma", int(source)).integers(1, classes))
            for source in victims.sources
        ]
        targets = (victims.labels + np.asarray(steps)) % classes
        attack = SaliencyMapMethod(
            estimator,
            theta=self.params.jsma.theta,
            gamma=self.params.jsma.gamma,
            batch_size=self.params.batch,
            verbose=False,
        )
        wanted = np.eye(classes, dtype=np.float32)[targets]
        adversarial: Floats = attack.generate(victims.images, wanted)
        return adversarial
