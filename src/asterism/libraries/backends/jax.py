"""JAX through Keras' backend, compiled by XLA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.library import LIBRARIES, Arrays, Library, numpy_list
from asterism.libraries.subject import Subject


@LIBRARIES.register("jax")
class Jax(Library):
    """Keras' JAX backend."""

    name = "jax"
    packages = ("jax", "jaxlib", "keras")
    keras_backend = "jax"
    forks = True
    options = ("jit", "eager")

    def start(self) -> None:
        """Let float64 be float64, which JAX otherwise computes in float32."""
        import jax

        jax.config.update("jax_enable_x64", True)

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        function = "jax.jit(call)" if option == "jit" else "call"
        return f"""
def run(model, inputs):
    import jax

    jax.config.update("jax_enable_x64", True)
    trainable = [v.value for v in model.trainable_variables]
    fixed = [v.value for v in model.non_trainable_variables]

    def call(inputs):
        return model.stateless_call(trainable, fixed, inputs, training=False)[0]

    outputs = {function}(inputs if len(inputs) > 1 else inputs[0])
    return outputs if isinstance(outputs, list) else [outputs]
"""

    def compile(self, subject: Subject, option: str) -> Any:
        """A function of the inputs; initial values are zeros: JAX compiles initializers."""
        import jax

        model = subject.keras(zero_initializers=True)
        trainable = [v.value for v in model.trainable_variables]
        fixed = [v.value for v in model.non_trainable_variables]

        def call(inputs: Any) -> Any:
            return model.stateless_call(trainable, fixed, inputs, training=False)[0]

        return jax.jit(call) if option == "jit" else call

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        given = list(inputs)
        return numpy_list(compiled(given if len(given) > 1 else given[0]))
