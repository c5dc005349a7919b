"""Keras' NumPy backend with plain NumPy only: a float64 reference, no library under test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, Library, numpy_list
from asterism.libraries.adapters.model_under_test import ModelUnderTest
from asterism.libraries.adapters.plain_numpy import install


@LIBRARIES.register("numpy")
class NumPy(Library):
    """Models computed by NumPy and SciPy; convolution and pooling are this project's own."""

    name = "numpy"
    packages = ("numpy", "keras")
    keras_backend = "numpy"
    forks = True
    options = ("float64",)
    zero_initializers = True

    def start(self) -> None:
        """Replace what the backend borrows from JAX; numbers of Python's own are float64."""
        import keras

        keras.config.set_floatx("float64")
        install()

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model."""
        return """
def run(model, inputs):
    outputs = model(inputs if len(inputs) > 1 else inputs[0], training=False)
    return outputs if isinstance(outputs, list) else [outputs]
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """The model in float64."""
        model = model_under_test.keras(dtype=option, zero_initializers=self.zero_initializers)
        return lambda inputs: model(inputs, training=False)

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        given = list(inputs)
        return numpy_list(compiled(given if len(given) > 1 else given[0]))
