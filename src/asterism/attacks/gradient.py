"""Attacks along the sign of the loss's gradient."""

from __future__ import annotations

from art.attacks.evasion import BasicIterativeMethod, FastGradientMethod

from asterism.attacks.attack import ATTACKS, Attack, Estimator, Floats, Victims


@ATTACKS.register("fgsm")
class FastGradientSign(Attack):
    """One step along the gradient's sign (Goodfellow et al., ICLR 2015)."""

    needs_classifier = False

    def perturb(self, estimator: Estimator, victims: Victims) -> Floats:
        """ART's FastGradientMethod, without random start."""
        attack = FastGradientMethod(
            estimator, eps=self.params.fgsm.eps, batch_size=self.params.batch
        )
        adversarial: Floats = attack.generate(victims.images, estimator.aim(victims))
        return adversarial


@ATTACKS.register("bim")
class BasicIterative(Attack):
    """Small steps along the gradient's sign, projected (Kurakin et al., ICLR 2017)."""

    needs_classifier = False

    def perturb(self, estimator: Estimator, victims: Victims) -> Floats:
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
        adversarial: Floats = attack.generate(victims.images, estimator.aim(victims))
        return adversarial
