"""TensorFlow: eager, as a graph, and through XLA; float64 as a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.library import LIBRARIES, Arrays, Library, numpy_list
from asterism.libraries.reference import perturbed
from asterism.libraries.subject import Subject


@LIBRARIES.register("tensorflow")
class TensorFlow(Library):
    """Keras' TensorFlow backend."""

    name = "tensorflow"
    packages = ("tensorflow", "keras")
    keras_backend = "tensorflow"
    options = ("eager", "graph", "xla", "float64", "perturbed")
    unsupported = (
        r"NHWC",
        r"Current (CPU|libxsmm)",
        r"No registered '\w+' OpKernel",
        r"Detected unsupported operations when trying to compile graph",
    )

    def start(self) -> None:
        """One thread, so that sums are added up in the same order every time."""
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)

    def compile(self, subject: Subject, option: str) -> Any:
        """A function of the inputs."""
        import tensorflow as tf

        if option in ("float64", "perturbed"):
            model = subject.keras(dtype="float64")
            if option == "perturbed":
                exact = model.get_weights()
                return _Perturbed(model, exact)
            return lambda inputs: model(inputs, training=False)
        model = subject.keras()
        if option == "eager":
            return lambda inputs: model(inputs, training=False)
        return tf.function(
            lambda inputs: model(inputs, training=False), jit_compile=option == "xla"
        )

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        import tensorflow as tf

        given = [tf.constant(i) for i in inputs]
        return numpy_list(compiled(given if len(given) > 1 else given[0]))


class _Perturbed:
    """The float64 model where inputs and weights are off by float32's rounding."""

    def __init__(self, model: Any, weights: list[NDArray[Any]]) -> None:
        self._model = model
        self._weights = weights

    def __call__(self, inputs: Any) -> Any:
        many = inputs if isinstance(inputs, list) else [inputs]
        moved = [perturbed(np.asarray(i)) for i in many]
        self._model.set_weights([perturbed(w) for w in self._weights])
        try:
            return self._model(moved if len(moved) > 1 else moved[0], training=False)
        finally:
            self._model.set_weights(self._weights)
