"""Random changes of a fixed strength, as an augmentation."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from asterism.attacks.methods import ATTACKS, Attack, AttackSeeds, Estimator, Floats, draw_direction
from asterism.core.parameters.params import ParameterSection


@ATTACKS.register("noise")
class GaussianNoiseAttack(Attack):
    """Gaussian white noise; it knows nothing of the model."""

    class Options(ParameterSection):
        """How strong it is."""

        std: float = Field(gt=0, description="standard deviation, of pixels in [0, 1]")

    needs_classifier = False

    def perturb(self, estimator: Estimator | None, victims: AttackSeeds) -> Floats:
        """Each input with noise from its own stream."""
        return np.stack(
            [
                image + self.options.std * draw_direction(victims.seed, "noise", source, image)
                for image, source in zip(victims.images, victims.sources, strict=True)
            ]
        )
