"""Attacks on a regressor that move its output as far as a small change of the input allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import keras
import numpy as np
from numpy.typing import NDArray

from asterism.attacks.augmentation import AugmentationSet, InputSplit, prefix_facts
from asterism.attacks.augmenting import read_natural_augmentations
from asterism.attacks.estimator import PixelRegressor
from asterism.attacks.keras_network import KerasNetwork
from asterism.attacks.methods import (
    Attack,
    AttackParams,
    AttackSeeds,
    Floats,
    as_levels,
    as_pixels,
    build_suitable_attacks,
)
from asterism.core.messages.console import get_logger, progress
from asterism.core.messages.errors import UserError
from asterism.core.random_streams import stream
from asterism.models.images_and_scores import PreprocessingParams

log = get_logger(__name__)

#: Targets this far off an output pull it to one side all the way; only the side matters.
_FAR = 1e6

#: One in so many images of either side of the split may be attacked.
_SHARE = 5


@dataclass(frozen=True)
class Deviations:
    """Augmentations to a regressor's test set, and how far they move its output.

    Attributes:
        augmentations: by name; those that move the output by more than is tolerated are successful.
        moved: float64 ``(N,)`` by name, distance of the output from that for the source, in the
            output's unit; only of augmentations that were made from test inputs.
    """

    augmentations: dict[str, AugmentationSet]
    moved: dict[str, NDArray[np.float64]]

    def per_input(self) -> dict[str, NDArray[Any]]:
        """What is known of each attacked input, named ``<attack>_<fact>``."""
        return prefix_facts(
            {
                name: self.augmentations[name].per_input() | {"moved": m}
                for name, m in self.moved.items()
            }
        )


@dataclass(frozen=True)
class AttackPlan:
    """What is settled, and can be rejected, before there is a regressor.

    Attributes:
        split: which test images are the test set.
        inputs: how many images each augmentation has: at most a fifth of the smaller side of the
            split, so that controls can be drawn.
        natural: the natural augmentations.
    """

    split: InputSplit
    inputs: int
    natural: dict[str, AugmentationSet]

    @classmethod
    def make(cls, images: NDArray[np.uint8], params: AttackParams, seed: int) -> Self:
        """Part the test images, uint8 ``(N, H, W, C)``, and gather the natural augmentations.

        Raises:
            UserError: too few images, or natural ones that cannot be added.
        """
        smaller = min(params.base_share, 1 - params.base_share)
        needed = math.ceil(round(_SHARE / smaller, 9))  # 1 - 0.8 is a little below 0.2
        if len(images) < needed:
            raise UserError(
                f"{len(images)} test images are too few to attack some and to draw controls from: "
                f"at least {needed} are needed, so give more rows, or a larger driving.test_share"
            )
        split = InputSplit.draw(len(images), params.base_share, seed)
        inputs = min(params.inputs, len(split.base) // _SHARE, len(split.pool) // _SHARE)
        if inputs < params.inputs:
            log.warning("fewer inputs attacked", wanted=params.inputs, possible=inputs)
        return cls(split, inputs, read_natural_augmentations(images, split, inputs, params, seed))


def attack_regressor(
    model: keras.Model,
    preprocessing: PreprocessingParams,
    images: NDArray[np.uint8],
    plan: AttackPlan,
    params: AttackParams,
    tolerance: float,
    seed: int,
) -> Deviations:
    """Attack test inputs, as far as attacks need no classes.

    Args:
        model: the regressor.
        preprocessing: what its inputs go through.
        images: all test images, uint8 ``(N, H, W, C)``.
        plan: which of them are attacked, and what else is added.
        params: which attacks.
        tolerance: largest movement of the output that is no failure, in its unit.
        seed: root of the random streams.

    Raises:
        UserError: an unknown attack.
    """
    order = stream(seed, "attack", "victims").permutation(plan.split.base)
    chosen = np.sort(order[: plan.inputs])
    estimator = PixelRegressor(KerasNetwork(model, preprocessing))
    pixels = as_pixels(images[chosen])
    outputs = estimator.predict(pixels)
    victims = AttackSeeds(pixels, outputs, chosen, seed)
    attacks = build_suitable_attacks(
        params, lambda attack: not attack.needs_classifier, "a regressor has no classes"
    )
    augmentations, moved = {}, {}
    for name, attack in progress(list(attacks.items()), label="attacking", unit="attack"):
        found = _farther(attack, estimator, victims)
        rounded = as_pixels(as_levels(found))
        moved[name], moved_rounded = (
            np.abs(estimator.predict(x).astype(np.float64) - outputs) for x in (found, rounded)
        )
        augmentations[name] = AugmentationSet.attacked(
            found, victims, moved[name] > tolerance, moved_rounded > tolerance
        )
    return Deviations(augmentations | plan.natural, moved)


def _farther(attack: Attack, estimator: PixelRegressor, victims: AttackSeeds) -> Floats:
    """The attack's result with the output pulled up or down, whichever moves it farther.

    At the input itself a distance from its own output has no gradient, so the side is chosen.
    """
    ends = []
    for side in (-_FAR, _FAR):
        pulled = replace(victims, labels=victims.labels + np.float32(side))
        found = np.clip(attack.perturb(estimator, pulled), 0, 1).astype(np.float32)
        ends.append((found, np.abs(estimator.predict(found) - victims.labels)))
    (up, far_up), (down, far_down) = ends
    return np.where((far_up >= far_down)[:, None, None, None], up, down)
