"""Keras' NumPy backend with plain NumPy only: a float64 reference, no library under test."""

from __future__ import annotations

from typing import ClassVar

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import LIBRARIES, Library
from asterism.differential.reference.numpy_kernels import install_kernels


@LIBRARIES.register("numpy")
class NumPy(Library):
    """Models computed by NumPy and SciPy; convolution and pooling are this project's own."""

    name = "numpy"
    packages = ("numpy", "keras")
    keras_backend = "numpy"
    forks = True
    codes: ClassVar = {
        "float64": BackendCode(call="outputs = keras.tree.flatten(model(GIVEN, training=False))")
    }
    zero_initializers = True

    def start(self) -> None:
        """Replace what the backend borrows from JAX; numbers of Python's own are float64."""
        import keras

        keras.config.set_floatx("float64")
        install_kernels()
