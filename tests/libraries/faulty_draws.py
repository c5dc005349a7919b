"""Copies of libraries whose dropout drops, and does not scale what is left."""

from __future__ import annotations

import importlib

from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.backends.jax import Jax
from asterism.differential.backends.pytorch import PyTorch


class _Unscaled:
    """Keras' code for the library, with that fault."""

    def start(self):
        super().start()
        drawing = importlib.import_module(f"keras.src.backend.{self.keras_backend}.random")
        right = drawing.dropout

        def dropout(inputs, rate, noise_shape=None, seed=None):
            return right(inputs, rate, noise_shape, seed) * (1 - rate)

        drawing.dropout = dropout


@LIBRARIES.register("pytorch_with_unscaled_dropout")
class UnscaledPyTorch(_Unscaled, PyTorch):
    """PyTorch with the fault."""

    name = "pytorch_with_unscaled_dropout"
    forks = False  # it changes the Keras of its process


@LIBRARIES.register("jax_with_unscaled_dropout")
class UnscaledJax(_Unscaled, Jax):
    """JAX with the fault."""

    name = "jax_with_unscaled_dropout"
    forks = False
