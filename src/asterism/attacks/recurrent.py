"""Attacks on recurrent networks: gradients reach every step of the input through time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.attack import ATTACKS, Floats, Ints, Victims
from asterism.attacks.estimator import PixelEstimator
from asterism.attacks.image_set import ImageSet
from asterism.attacks.noise import noise_of_length
from asterism.attacks.params import AttackParams
from asterism.attacks.pixels import as_levels, as_pixels, l2, linf
from asterism.core.artifacts import read_json
from asterism.core.console import get_logger, progress
from asterism.core.errors import UserError
from asterism.core.streams import stream
from asterism.models.keras_files import KERAS_SUFFIXES, load_keras
from asterism.models.preprocessing import PreprocessingParams
from asterism.models.trained_rnn import open_trained

log = get_logger(__name__)

THROUGH_TIME = ("fgsm", "bim")
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
    folder: Path, images: NDArray[np.uint8], labels: Ints, params: AttackParams, seed: int
) -> dict[str, AttackedImages]:
    """FGSM and BIM on correctly classified inputs, and noise as strong as FGSM's changes.

    Args:
        folder: where ``train_rnn`` left the network.
        images: uint8 ``(N, H, W, C)``, test images.
        labels: their classes.
        params: the attacks' settings.
        seed: root of the random streams.

    Returns:
        Attacked images by attack; nothing for a network in a format that gives no gradients.

    Raises:
        UserError: the network takes sequences that such images do not make, or classifies none of
            them correctly.
    """
    file = folder / str(read_json(folder / "rnn.json")["file"])
    if file.suffix not in KERAS_SUFFIXES:
        log.warning("this network's format gives no gradients: not attacked", file=file.name)
        return {}
    shape = open_trained(folder).sequence_shape(images.shape[1:])
    estimator = PixelEstimator(load_keras(file), _UNIT, shape)
    sequences = as_pixels(images).reshape(-1, *shape)
    correct = np.flatnonzero(estimator.predict(sequences).argmax(axis=1) == labels)
    if not len(correct):
        raise UserError("the recurrent network classifies no test input correctly: none to attack")
    if len(correct) < params.rnn_inputs:
        log.warning("fewer inputs attacked", wanted=params.rnn_inputs, possible=len(correct))
    chosen = stream(seed, "attack", "recurrent").permutation(correct)[: params.rnn_inputs]
    victims = Victims(sequences[chosen], labels[chosen], chosen, seed)
    found: dict[str, Floats] = {}
    for name in progress(THROUGH_TIME, label="attacking the recurrent network", unit="attack"):
        found[name] = np.clip(ATTACKS[name](params).perturb(estimator, victims), 0, 1)
    pictures = victims.images.reshape(-1, *images.shape[1:])
    lengths = l2(found["fgsm"], victims.images)
    found["noise"] = noise_of_length(pictures, lengths, chosen, seed)
    return {
        name: _judge(estimator, changed.reshape(pictures.shape), victims)
        for name, changed in found.items()
    }


def _judge(estimator: PixelEstimator, changed: Floats, victims: Victims) -> AttackedImages:
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
