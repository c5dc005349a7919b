"""Networks as the Adversarial Robustness Toolbox (ART) sees them, on pixels in [0, 1]."""

from __future__ import annotations

from typing import Any

import numpy as np
from art.estimators import BaseEstimator, LossGradientsMixin
from art.estimators.classification import ClassGradientsMixin, ClassifierMixin
from art.estimators.regression import RegressorMixin
from numpy.typing import NDArray

from asterism.attacks.methods import AttackSeeds, Floats, Ints, PixelNetwork, as_pixels

#: Images that are looked at at once.
_BATCH = 512


class _Estimator(LossGradientsMixin, BaseEstimator):  # type: ignore[misc]  # ART ships no types
    """What classifiers and regressors have in common.

    ART's own estimators run a network once per class that occurs in a batch. Here it runs once per
    question, for the whole batch; the attacks ask nothing else of an estimator.

    Args:
        network: the network under attack.
    """

    def __init__(self, network: PixelNetwork) -> None:
        self._network = network
        super().__init__(model=network, clip_values=(0.0, 1.0))

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of one input."""
        return self._network.shape

    def _outputs(self, x: Floats, batch_size: int) -> Floats:
        starts = range(0, len(x), batch_size)
        return np.concatenate([self._network.outputs(x[i : i + batch_size]) for i in starts])

    def fit(self, *_: Any, **__: Any) -> None:
        """Networks under attack are not trained."""
        raise NotImplementedError


class PixelEstimator(_Estimator, ClassGradientsMixin, ClassifierMixin):  # type: ignore[misc]
    """Logits and gradients of a classifier for pixels in [0, 1].

    Args:
        network: gives logits.
    """

    def __init__(self, network: PixelNetwork) -> None:
        super().__init__(network)
        self.nb_classes = network.width

    def aim(self, victims: AttackSeeds) -> Floats:
        """The classes to get away from, one-hot, float32 ``(N, classes)``."""
        return self._one_hot(victims.labels)

    def predict(self, x: Floats, batch_size: int = 128, **_: Any) -> Floats:
        """Logits ``(N, classes)`` of pixels ``(N, H, W, C)``."""
        return self._outputs(x, batch_size)

    def correct(self, images: NDArray[np.uint8], labels: Ints) -> Ints:
        """Positions of the images that are put into their classes ``(N,)``, batch by batch."""
        parts = [
            self.predict(as_pixels(images[start : start + _BATCH])).argmax(axis=1)
            for start in range(0, len(images), _BATCH)
        ]
        return np.flatnonzero(np.concatenate(parts) == labels)

    def class_gradient(self, x: Floats, label: Any = None, **_: Any) -> Floats:
        """Gradient of each input's logit ``label``, ``(N, 1, H, W, C)``."""
        chosen = self._one_hot(np.broadcast_to(np.asarray(label, np.int64), len(x)))
        gradient: Floats = self._network.gradient(x, lambda logits: chosen)[1]
        return gradient[:, None]

    def lead(
        self, x: Floats, labels: Ints, weights: Floats, margin: float
    ) -> tuple[Floats, Floats]:
        """By how much a class's logit leads those of all others, and what lowers that.

        Args:
            x: pixels ``(N, H, W, C)``.
            labels: the class of each, ``(N,)``.
            weights: of each input's lead in the loss, float32 ``(N,)``.
            margin: by which another class is to lead in the end.

        Returns:
            The lead ``(N,)``, below 0 where another class leads, and the gradient
            ``(N, H, W, C)`` of ``weights * max(0, lead + margin)``.
        """
        own, rows = self._one_hot(labels), np.arange(len(x))
        by = np.empty(len(x), np.float32)

        def weigh(logits: Floats) -> Floats:
            others = np.where(own > 0, -np.inf, logits)
            best = others.argmax(axis=1)
            by[:] = logits[rows, labels] - others[rows, best]
            counting = weights * (by + np.float32(margin) > 0)
            return counting[:, None] * (own - self._one_hot(best))

        _, gradient = self._network.gradient(x, weigh)
        return by, gradient

    def loss_gradient(self, x: Floats, y: Floats, **_: Any) -> Floats:
        """Gradient of the cross-entropy of one-hot ``y``, ``(N, H, W, C)``."""
        return self._network.loss_gradient(x, y)

    def _one_hot(self, labels: Ints) -> Floats:
        return np.eye(self.nb_classes, dtype=np.float32)[labels]


class PixelRegressor(_Estimator, RegressorMixin):  # type: ignore[misc]
    """Output and gradients of a regressor with one output, for pixels in [0, 1].

    Args:
        network: gives one output.
    """

    def aim(self, victims: AttackSeeds) -> Floats:
        """The outputs to get away from, float32 ``(N,)``."""
        return victims.labels.astype(np.float32)

    def predict(self, x: Floats, batch_size: int = 128, **_: Any) -> Floats:
        """Outputs ``(N,)`` of pixels ``(N, H, W, C)``."""
        return self._outputs(x, batch_size)[:, 0]

    def loss_gradient(self, x: Floats, y: Floats, **_: Any) -> Floats:
        """Gradient of the distance of each output from ``y``, ``(N, H, W, C)``."""
        return self._network.gradient(x, lambda outputs: np.sign(outputs - y[:, None]))[1]
