"""Making all augmentation sets of a test set, and judging which of their inputs succeed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.attack import AttackSeeds, Floats, Ints, build_attacks
from asterism.attacks.augmentation import AugmentationSet, Split
from asterism.attacks.estimator import PixelEstimator
from asterism.attacks.natural import natural_augmentations
from asterism.attacks.params import AttackParams
from asterism.attacks.pixels import as_levels, as_pixels
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.core.randomness.random_streams import stream
from asterism.models.keras_models.probabilities import notes_on_scores


def make_augmentations(
    estimator: PixelEstimator,
    images: NDArray[np.uint8],
    labels: Ints,
    split: Split,
    params: AttackParams,
    seed: int,
) -> dict[str, AugmentationSet]:
    """Attack test inputs that the model handles correctly, and gather the natural augmentations.

    Args:
        estimator: the classifier.
        images: all test images, uint8 ``(N, H, W, C)``.
        labels: their classes, ``(N,)``.
        split: which of them are the test set.
        params: which attacks, on how many inputs.
        seed: root of the random streams.

    Returns:
        Augmentations by name, in the order of ``params.names``, the natural ones last.

    Raises:
        UserError: too few correctly handled inputs, an unknown attack, or natural images of the
            user's that cannot be added.
    """
    attacks = build_attacks(params)
    natural = natural_augmentations(images, split, params.inputs, params, seed)
    most = max(attack.inputs for attack in attacks.values())
    victims = _choose_victims(estimator, images, labels, split, most, seed)
    notes_on_scores(estimator.predict(victims.images))
    augmentations = {}
    for name, attack in progress(list(attacks.items()), label="attacking", unit="attack"):
        mine = victims.part(0, attack.inputs)
        found = np.clip(attack.perturb(estimator, mine), 0, 1).astype(np.float32)
        augmentations[name] = _judge(estimator, found, mine)
    judged = {name: _judge_natural(estimator, found, labels) for name, found in natural.items()}
    return augmentations | judged


def _choose_victims(
    estimator: PixelEstimator,
    images: NDArray[np.uint8],
    labels: Ints,
    split: Split,
    count: int,
    seed: int,
) -> AttackSeeds:
    correct = estimator.correct(images[split.base], labels[split.base])
    correct = split.base[correct]
    if not len(correct):
        raise UserError("no test input is classified correctly: is `preprocessing` right?")
    if len(correct) < count:
        raise UserError(
            f"attack.inputs is {count}, but only {len(correct)} inputs of the test set are "
            "classified correctly: lower it"
        )
    chosen = stream(seed, "attack", "victims").permutation(correct)[:count]
    return AttackSeeds(as_pixels(images[chosen]), labels[chosen], chosen, seed)


def _judge(estimator: PixelEstimator, found: Floats, victims: AttackSeeds) -> AugmentationSet:
    rounded = as_pixels(as_levels(found))
    wrong, wrong_rounded = (_missed(estimator, x, victims.labels) for x in (found, rounded))
    return AugmentationSet.attacked(found, victims, wrong, wrong_rounded)


def _judge_natural(
    estimator: PixelEstimator, augmentation: AugmentationSet, labels: Ints
) -> AugmentationSet:
    wrong = augmentation.judged & _missed(
        estimator, augmentation.images, labels[augmentation.positions]
    )
    return replace(augmentation, success=wrong, success_rounded=wrong)


def _missed(estimator: PixelEstimator, found: Floats, labels: Ints) -> NDArray[np.bool_]:
    missed: NDArray[np.bool_] = estimator.predict(found).argmax(axis=1) != labels
    return missed
