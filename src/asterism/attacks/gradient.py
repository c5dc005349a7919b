"""Attacks along the sign of the loss's gradient."""

from __future__ import annotations

import numpy as np
from art.attacks.evasion import BasicIterativeMethod, FastGradientMethod

from asterism.attacks.attack import ATTACKS, Attack, Floats, Victims
from asterism.attacks.estimator import PixelEstimator


@ATTACKS.register("fgsm")
class FastGradientSign(Attack):
    """One step along the gradient's sign (Goodfellow et al., ICLR 2015)."""

    def perturb(self, estimator: PixelEstimator, victims: Victims) -> Floats:
        """ART's FastGradientMethod, without random start."""
        attack = FastGradientMethod(
            estimator, eps=self.params.fgsm.eps, batch_size=self.params.batch
        )
        adversarial: Floats = attack.generate(victims.images, one_hot(victims, estimator))
        return adversarial


@ATTACKS.register("bim")
class BasicIterative(Attack):
    """Small steps along the gradient's sign, projected (Kurakin et al., ICLR 2017)."""

    def perturb(self, estimator: PixelEstimator, victims: Victims) -> Floats:
        """ART's BasicIterativeMethod."""
        settings = self.params.bim
        attack = BasicIterativeMethod(
            estimator,
            eps=settings.eps,
            eps_step=settings.step,
            max_iter=settings.iterations,
            batch_size=self.params.batch,
            verbose=False,
        )
        adversarial: Floats = attack.generate(victims.images, one_hot(victims, estimator))
        return adversarial


def one_hot(victims: Victims, estimator: PixelEstimator) -> Floats:
    """True classes as ART takes them, float32 ``(N, classes)``."""
    return np.eye(estimator.nb_classes, dtype=np.float32)[victims.labels]
