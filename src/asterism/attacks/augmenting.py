"""Making all augmentation sets of a test set, attacked and natural, and judging their inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.augmentation import AugmentationSet, InputSplit
from asterism.attacks.estimator import PixelEstimator
from asterism.attacks.methods import (
    AttackParams,
    AttackSeeds,
    Floats,
    Ints,
    PixelNetwork,
    as_levels,
    as_pixels,
    build_attacks,
)
from asterism.core.files.artifacts import read_arrays
from asterism.core.messages.console import get_logger, progress
from asterism.core.messages.errors import UserError
from asterism.core.random_streams import stream
from asterism.models.images_and_scores import check_scores


def augment_tests(
    network: PixelNetwork, images: NDArray[np.uint8], labels: Ints, params: AttackParams, seed: int
) -> tuple[InputSplit, dict[str, AugmentationSet]]:
    """Part test inputs into the test set and others, and make augmentations of the test set.

    Args:
        network: the classifier.
        images: all test images, uint8 ``(N, H, W, C)``.
        labels: their classes, ``(N,)``.
        params: see :func:`make_augmentations`.
        seed: root of the random streams.

    Raises:
        UserError: as :meth:`.InputSplit.draw` and :func:`make_augmentations`.
    """
    split = InputSplit.draw(len(images), params.base_share, seed)
    return split, make_augmentations(PixelEstimator(network), images, labels, split, params, seed)


def make_augmentations(
    estimator: PixelEstimator,
    images: NDArray[np.uint8],
    labels: Ints,
    split: InputSplit,
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
    natural = read_natural_augmentations(images, split, params.inputs, params, seed)
    most = max(attack.inputs for attack in attacks.values())
    victims = _choose_victims(estimator, images, labels, split, most, seed)
    check_scores(estimator.predict(victims.images))
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
    split: InputSplit,
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


log = get_logger(__name__)

#: Names of the natural augmentations: the pool's most different inputs, and images of the user's.
SEMANTIC, OWN = "semantic", "own"

#: Images whose distances are worked out at once.
_CHUNK = 512

Images = NDArray[np.uint8]


def read_natural_augmentations(
    images: Images, split: InputSplit, count: int, params: AttackParams, seed: int
) -> dict[str, AugmentationSet]:
    """The natural augmentation that is asked for, under its name; nothing where none is.

    Args:
        images: all test images, uint8 ``(N, H, W, C)``.
        split: which of them are the test set.
        count: how many to add; of the user's own fewer where there are no more.
        params: where they come from.
        seed: root of the random streams.

    Raises:
        UserError: too few images, or a file that holds something else.
    """
    if params.semantic == "none":
        return {}
    if params.semantic == "file":
        path = Path(params.semantic_path)
        own = read_natural(path, images.shape[1:])
        drawn = np.sort(stream(seed, "attack", OWN).permutation(len(own))[:count])
        log.info("own natural images", file=str(path), images=len(own), added=len(drawn))
        return {OWN: AugmentationSet.natural(as_pixels(own[drawn]))}
    chosen = split.pool[choose_farthest(images[split.pool], images[split.base], count)]
    return {SEMANTIC: AugmentationSet.natural(as_pixels(images[chosen]), chosen)}


def choose_farthest(pool: Images, base: Images, count: int) -> Ints:
    """Positions of the ``count`` images of the pool that differ most from the base.

    Farthest-first traversal (Gonzalez 1985): each choice has the greatest distance to its nearest
    neighbour among the base and the earlier choices. Distances are between pixels, so no model
    has a say in which inputs count as different.
    """
    if count > len(pool):
        raise UserError(
            f"attack.inputs asks for {count} natural images, but the pool has {len(pool)}: lower "
            "attack.inputs or attack.base_share"
        )
    nearest = np.full(len(pool), np.inf)
    for start in range(0, len(base), _CHUNK):
        nearest = np.minimum(nearest, _to_nearest(pool, base[start : start + _CHUNK]))
    chosen: list[int] = []
    for _ in range(count):
        best = int(nearest.argmax())
        chosen.append(best)
        nearest = np.minimum(nearest, _to_nearest(pool, pool[best : best + 1]))
        nearest[chosen] = -np.inf
    return np.asarray(chosen, np.int64)


def read_natural(path: Path, shape: tuple[int, ...]) -> Images:
    """The user's own images, uint8 ``(N, H, W, C)``.

    Raises:
        UserError: no uint8 ``images`` of the model's shape in the file.
    """
    images = read_arrays(path).get("images")
    if images is None or images.dtype != np.uint8 or images.shape[1:] != shape:
        wanted = ", ".join(map(str, shape))
        raise UserError(f"{path} needs an array `images`, uint8 of shape (N, {wanted})")
    if not len(images):
        raise UserError(f"{path} holds no images")
    return images


def _to_nearest(pool: Images, few: Images) -> NDArray[np.float64]:
    """Squared distance of each image of the pool to the nearest of a few."""
    b = few.reshape(len(few), -1).astype(np.float64)
    parts = []
    for start in range(0, len(pool), _CHUNK):
        a = pool[start : start + _CHUNK].reshape(-1, b.shape[1]).astype(np.float64)
        squares = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
        parts.append(np.maximum(squares, 0).min(axis=1))
    return np.concatenate(parts)
