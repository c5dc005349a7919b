"""The lane on a regressor: DAVE-2 on the user's driving data."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from asterism.attacks.addition import Addition, Split, as_pixels
from asterism.attacks.attack import Victims
from asterism.attacks.natural import farthest_first
from asterism.attacks.noise import GaussianNoise, l2
from asterism.attacks.params import AttackParams
from asterism.core.streams import stream
from asterism.data.driving import Driving
from asterism.models.architectures import ARCHITECTURES
from asterism.models.params import TrainingParams
from asterism.models.preprocessing import PreprocessingParams
from asterism.models.training import compile_for, fit, make_deterministic


def train_regressor(
    driving: Driving, preprocessing: PreprocessingParams, training: TrainingParams, seed: int
) -> tuple[keras.Model, dict[str, float]]:
    """DAVE-2 trained on mean squared error, and its error on both parts."""
    make_deterministic(seed, "measure_driving")
    model = ARCHITECTURES["dave2"](driving.train_images.shape[1:], 1)
    compile_for(model, training)
    model.compile(model.optimizer, loss="mean_squared_error")
    targets: Any = driving.train_angles
    fit(model, preprocessing.apply(driving.train_images), targets, training)
    parts = {
        "train_mse": (driving.train_images, driving.train_angles),
        "test_mse": (driving.test_images, driving.test_angles),
    }
    errors = {}
    for name, (images, angles) in parts.items():
        predicted = model.predict(preprocessing.apply(images), verbose=0)[:, 0]
        errors[name] = float(np.mean((predicted.astype(np.float64) - angles) ** 2))
    return model, errors


def regression_additions(
    images: NDArray[np.uint8], split: Split, params: AttackParams, seed: int
) -> dict[str, Addition]:
    """The additions that need no classes: noise, and the pool's most different images.

    At most a fifth of the smaller side of the split each, so that controls can be drawn.
    """
    size = max(1, min(params.inputs, len(split.base) // 5, len(split.pool) // 5))
    chosen = np.sort(stream(seed, "attack", "victims").permutation(split.base)[:size])
    victims = Victims(as_pixels(images[chosen]), np.zeros(size, np.int64), chosen, seed)
    noisy = np.clip(GaussianNoise(params).perturb(None, victims), 0, 1)
    pool, base = as_pixels(images[split.pool]), as_pixels(images[split.base])
    natural = split.pool[farthest_first(pool, base, size)]
    nothing, never = np.zeros(size), np.zeros(size, np.bool_)
    change = np.abs(noisy - victims.images).reshape(size, -1).max(axis=1).astype(np.float64)
    return {
        "noise": Addition(noisy, chosen, l2(noisy, victims.images), change, never, never),
        "semantic": Addition(
            as_pixels(images[natural]), np.full(size, -1), nothing, nothing, never, never
        ),
    }
