"""Keras 2: the configuration and weights of a model in the words of the older Keras."""

from __future__ import annotations

from asterism.differential.adapters.code import BackendCode, source_of
from asterism.differential.adapters.library import CONVERTERS, Converter
from asterism_mxnet.keras2 import keras2_layer, write_keras2


@CONVERTERS.register("keras2")
class Keras2(Converter):
    """Asterism's own translation of a Keras 3 model, for libraries that have Keras 2."""

    name = "keras2"
    packages = ("keras",)
    keras_backend = "jax"
    forks = True
    suffix = ".keras2"
    host = "jax"

    def code(self, opset: int | None = None) -> BackendCode:
        """See :class:`Converter`."""
        return BackendCode(
            (), f"{source_of(keras2_layer, write_keras2)}\nwrite_keras2(model, path)"
        )
