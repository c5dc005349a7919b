"""The lane on a regressor: DAVE-2 on the user's driving data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from asterism.attacks.deviations import AttackPlan, Deviations, attack_regressor
from asterism.attacks.methods import AttackParams
from asterism.criteria.families import CriteriaParams
from asterism.data.driving import DrivingImages, DrivingParams
from asterism.deepimportance.controls import draw_controls
from asterism.deepimportance.fitting import fit_criteria as fit_criteria
from asterism.deepimportance.judged_keras import JudgedKeras
from asterism.deepimportance.measurement import measure_adequacy
from asterism.deepimportance.params import ImportanceParams
from asterism.models.architectures import ARCHITECTURES
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.params import TrainingParams
from asterism.models.training.fitting import compile_for, fit_model, make_deterministic


@dataclass(frozen=True)
class Regressor:
    """A model that steers, and the driving data that it is trained and tested on.

    Attributes:
        model: the network.
        preprocessing: what its inputs go through.
        driving: its data.
        settings: its subject layer, what its output means, and how far that may be moved.
    """

    model: keras.Model
    preprocessing: PreprocessingParams
    driving: DrivingImages
    settings: DrivingParams


def train_regressor(
    driving: DrivingImages,
    preprocessing: PreprocessingParams,
    training: TrainingParams,
    settings: DrivingParams,
    seed: int,
) -> tuple[Regressor, dict[str, float]]:
    """Train DAVE-2 on mean squared error; returns it and its error on both parts.

    Raises:
        UserError: it has no such subject layer, which is found before it is trained.
    """
    make_deterministic(seed, "measure_driving")
    model = ARCHITECTURES["dave2"](driving.train_images.shape[1:], 1)
    JudgedKeras(model, preprocessing).find_layer(settings.layer)
    compile_for(model, training, "mean_squared_error", metrics=())
    targets: Any = driving.train_angles
    fit_model(model, preprocessing.apply(driving.train_images), targets, training)
    parts = {
        "train_mse": (driving.train_images, driving.train_angles),
        "test_mse": (driving.test_images, driving.test_angles),
    }
    errors = {}
    for name, (images, angles) in parts.items():
        predicted = model.predict(preprocessing.apply(images), verbose=0)[:, 0]
        errors[name] = float(np.mean((predicted.astype(np.float64) - angles) ** 2))
    return Regressor(model, preprocessing, driving, settings), errors


def measure_regressor(
    regressor: Regressor,
    plan: AttackPlan,
    attack: AttackParams,
    importance: ImportanceParams,
    criteria: CriteriaParams,
    seed: int,
) -> tuple[dict[str, Any], Deviations]:
    """Attack a regressor, and measure how far its tests and the augmentations exercise it.

    Args:
        regressor: the model and its data.
        plan: how its test images are parted, and what is added to them.
        attack: which attacks.
        importance: the lane's parameters. Its subject layer is the classifier's and does not count.
        criteria: which other criteria. They count all hidden layers: those that the parameters
            name are the classifier's.
        seed: root of the random streams.

    Returns:
        Metrics: those of every criterion, and how far each attack moves the output. And what the
        attacks found.
    """
    model, preprocessing, driving = regressor.model, regressor.preprocessing, regressor.driving
    units = regressor.settings.angles
    importance = importance.model_copy(update={"layer": regressor.settings.layer})
    criteria = criteria.model_copy(update={"layers": None})
    tests = driving.test_images
    split = plan.split
    tolerance = units.tolerance_degrees / units.degrees
    found = attack_regressor(model, preprocessing, tests, plan, attack, tolerance, seed)
    compared = {
        name: draw_controls(
            augmentation, name, tests, split, importance.draws, importance.noise_std, seed
        )
        for name, augmentation in found.augmentations.items()
    }
    judged = JudgedKeras(model, preprocessing)
    fitted = fit_criteria(judged, driving.train_images, None, importance, criteria)
    metrics = measure_adequacy(fitted, tests[split.base], tests[split.pool], compared).metrics
    attacks = {
        "attacks": {
            name: found.augmentations[name].summary()
            | {
                "deviation_mean": float(moved.mean()),
                "deviation_max": float(moved.max()),
                "deviation_degrees_mean": float(moved.mean() * units.degrees),
                "deviation_degrees_max": float(moved.max() * units.degrees),
            }
            for name, moved in found.moved.items()
        }
    }
    return metrics | attacks | {"tolerance_degrees": units.tolerance_degrees}, found
