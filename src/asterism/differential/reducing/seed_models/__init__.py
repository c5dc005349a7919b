"""Seed models by name: the paper's ten, and a few that are small."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from asterism.core.parameters.registry import Registry
from asterism.core.random_streams import stream
from asterism.memo.graphs.weights import draw_weights, variables_of

if TYPE_CHECKING:
    import keras


#: Makes a Keras model; published weights are not needed to test libraries.
SeedModel = Callable[[], "keras.Model"]
SEED_MODELS: Registry[SeedModel] = Registry(
    "seed model", "asterism.differential.reducing.seed_models"
)


def make_seed_model(name: str, seed: int) -> keras.Model:
    """The seed model called ``name``, with random weights.

    They depend on ``seed``, the name and the layer, and are the same on every backend of Keras.
    """
    model = SEED_MODELS[name]()
    for number, layer in enumerate(model.layers):
        arrays = [
            draw_weights(variable, shape, stream(seed, "seed model", name, number, at))
            for at, (variable, shape) in enumerate(variables_of(layer))
        ]
        layer.set_weights(arrays)
    return model
