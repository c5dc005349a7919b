"""What an attack is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.params import AttackParams
from asterism.core.registry import Registry

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Victims:
    """Inputs to start from.

    Attributes:
        images: float32 ``(N, H, W, C)``, pixels in [0, 1].
        labels: ``(N,)``, what to get away from: true classes, int64, or a regressor's outputs.
        sources: int64 ``(N,)``, positions in the test set, which name the random streams.
        seed: root of the random streams.
    """

    images: Floats
    labels: NDArray[Any]
    sources: Ints
    seed: int

    def part(self, start: int, stop: int) -> Victims:
        """A contiguous part."""
        here = slice(start, stop)
        return Victims(self.images[here], self.labels[here], self.sources[here], self.seed)


class Estimator(Protocol):
    """A model under attack, as all attacks see it; classifiers offer more."""

    def predict(self, x: Floats) -> Floats:
        """Outputs for pixels ``(N, H, W, C)`` in [0, 1]."""
        ...

    def aim(self, victims: Victims) -> Floats:
        """What a loss compares the outputs with."""
        ...

    def loss_gradient(self, x: Floats, y: Floats) -> Floats:
        """Gradient of the loss of each input, of the inputs' shape."""
        ...


class Attack(ABC):
    """Changes inputs, each for itself: an input's result does not depend on its batch."""

    #: Whether it needs a classifier to attack; others work on regressors too.
    needs_classifier: ClassVar[bool] = True

    def __init__(self, params: AttackParams) -> None:
        self.params = params

    @property
    def inputs(self) -> int:
        """How many inputs it starts from."""
        return self.params.inputs

    @abstractmethod
    def perturb(self, estimator: Any, victims: Victims) -> Floats:
        """Changed inputs, float32 of the victims' shape; the caller clips them to [0, 1].

        Args:
            estimator: an :class:`Estimator`, that of a classifier where one is needed.
            victims: inputs to start from.
        """


ATTACKS: Registry[type[Attack]] = Registry("attack", "asterism.attacks")
