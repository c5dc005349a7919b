"""Attacks on recurrent networks: gradients reach every step of the input through time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.augmentation import ImageSet
from asterism.attacks.estimator import PixelEstimator
from asterism.attacks.keras_network import KerasNetwork
from asterism.attacks.methods import (
    AttackParams,
    AttackSeeds,
    Floats,
    Ints,
    as_levels,
    as_pixels,
    build_suitable_attacks,
    draw_noise_of_length,
    l2,
    linf,
)
from asterism.core.messages.console import get_logger, progress
from asterism.core.messages.errors import UserError
from asterism.core.random_streams import stream
from asterism.data import Dataset
from asterism.models.images_and_scores import PreprocessingParams, check_scores
from asterism.models.keras_models.layers import cut_softmax
from asterism.models.keras_models.reading import KERAS_SUFFIXES, load_keras
from asterism.models.recurrent.trained import open_trained, trained_file

log = get_logger(__name__)

#: Name of the random changes that the attacks are held against.
CONTROL = "noise"
#: Recurrent networks take pixels in [0, 1], row after row.
_UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])


@dataclass(frozen=True)
class AttackedImages(ImageSet):
    """Attacked inputs of a recurrent network.

    Attributes:
        images: uint8 ``(N, H, W, C)``, rounded to grey levels.
        labels: int64 ``(N,)``, their true classes.
    """

    images: NDArray[np.uint8]
    labels: Ints


def attack_recurrent(
    folder: Path, data: Dataset, params: AttackParams, seed: int
) -> dict[str, AttackedImages]:
    """The attacks that work through time on correctly classified inputs, each beside noise.

    Args:
        folder: where ``train_rnn`` left the network.
        data: its test images are attacked.
        params: which attacks; those that do not work through time are left out.
        seed: root of the random streams.

    Returns:
        Attacked images by attack, then noise as strong as the changes of the first attack, by
        ``noise``, and of each other one, by ``noise_of_<attack>``; nothing where no attack is left,
        for a network in a format that gives no gradients, or for inputs that are no images.

    Raises:
        UserError: an unknown attack; or the network takes sequences that such images do not make,
            or classifies none of them correctly.
    """
    if data.kind != "images":
        log.warning("attacks change the pixels of images: not attacked", inputs=data.kind)
        return {}
    images, labels = data.test_images, data.test_labels
    file = trained_file(folder)
    if file.suffix not in KERAS_SUFFIXES:
        log.warning("this network's format gives no gradients: not attacked", file=file.name)
        return {}
    attacks = build_suitable_attacks(
        params, lambda attack: attack.through_time, "they do not work through time"
    )
    if not attacks:
        return {}
    shape = open_trained(folder).sequence_shape(images.shape[1:])
    estimator = PixelEstimator(KerasNetwork(cut_softmax(load_keras(file)), _UNIT, shape))
    sequences = as_pixels(images).reshape(-1, *shape)
    scores = estimator.predict(sequences)
    check_scores(scores)
    correct = np.flatnonzero(scores.argmax(axis=1) == labels)
    if not len(correct):
        raise UserError("the recurrent network classifies no test input correctly: none to attack")
    if len(correct) < params.rnn_inputs:
        log.warning("fewer inputs attacked", wanted=params.rnn_inputs, possible=len(correct))
    chosen = stream(seed, "attack", "recurrent").permutation(correct)[: params.rnn_inputs]
    victims = AttackSeeds(sequences[chosen], labels[chosen], chosen, seed)
    found: dict[str, Floats] = {}
    label = "attacking the recurrent network"
    for name, attack in progress(list(attacks.items()), label=label, unit="attack"):
        found[name] = np.clip(attack.perturb(estimator, victims), 0, 1)
    pictures = victims.images.reshape(-1, *images.shape[1:])
    for place, name in enumerate(list(found)):
        lengths = l2(found[name], victims.images)
        control = f"{CONTROL}_of_{name}" if place else CONTROL
        found[control] = draw_noise_of_length(pictures, lengths, chosen, seed)
    return {
        name: _judge(estimator, changed.reshape(pictures.shape), victims)
        for name, changed in found.items()
    }


def _judge(estimator: PixelEstimator, changed: Floats, victims: AttackSeeds) -> AttackedImages:
    rounded = as_levels(changed)
    sequences = as_pixels(rounded).reshape(victims.images.shape)
    wrong = estimator.predict(sequences).argmax(axis=1) != victims.labels
    return AttackedImages(
        images=rounded,
        labels=victims.labels,
        sources=victims.sources,
        success=wrong,
        l2=l2(sequences, victims.images),
        linf=linf(sequences, victims.images),
    )
