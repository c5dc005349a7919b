"""Seed models by name: the paper's ten, and a few that are small."""

from __future__ import annotations

from collections.abc import Callable

import keras

from asterism.core.registry import Registry
from asterism.core.streams import spawn_integer

#: Makes a Keras model with random weights; published weights are not needed to test libraries.
SeedModel = Callable[[], keras.Model]
SEED_MODELS: Registry[SeedModel] = Registry("seed model", "asterism.memo.seed_models")


def make_seed_model(name: str, seed: int) -> keras.Model:
    """The seed model called ``name``, with weights that depend on ``seed`` and the name."""
    keras.utils.set_random_seed(spawn_integer(seed, "seed model", name))
    return SEED_MODELS[name]()
