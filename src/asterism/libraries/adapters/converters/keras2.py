"""Keras 2: the configuration and weights of a model in the words of the older Keras."""

from __future__ import annotations

import inspect
from pathlib import Path

from asterism.libraries.adapters.keras2 import keras2_layer, write_keras2
from asterism.libraries.adapters.library import CONVERTERS, Converter
from asterism.libraries.adapters.model_under_test import ModelUnderTest


@CONVERTERS.register("keras2")
class Keras2(Converter):
    """Asterism's own translation of a Keras 3 model, for libraries that have Keras 2."""

    name = "keras2"
    packages = ("keras",)
    keras_backend = "jax"
    forks = True
    suffix = ".keras2"
    host = "jax"

    def script(self) -> str:
        """Source of a function that converts a Keras model."""
        parts = "\n\n".join(inspect.getsource(part) for part in (keras2_layer, write_keras2))
        return f"""
from pathlib import Path
from typing import Any


{parts}

def convert(model, path):
    write_keras2(model, path)
"""

    def convert(self, model_under_test: ModelUnderTest, target: Path) -> None:
        """Write the archive."""
        write_keras2(model_under_test.keras(zero_initializers=True), target)
