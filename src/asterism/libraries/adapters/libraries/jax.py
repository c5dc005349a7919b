"""JAX through Keras' backend, compiled by XLA or not; float64 as a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, Library, cotangent, numpy_list
from asterism.libraries.adapters.model_under_test import ModelUnderTest

#: How every script begins: the model as a function of its inputs.
_CALL = """
def run(model, inputs):
    import jax

    jax.config.update("jax_enable_x64", True)
    trainable = [v.value for v in model.trainable_variables]
    fixed = [v.value for v in model.non_trainable_variables]

    def call(inputs):
        return model.stateless_call(trainable, fixed, inputs, training=False)[0]
"""


@LIBRARIES.register("jax")
class Jax(Library):
    """Keras' JAX backend."""

    name = "jax"
    packages = ("jax", "jaxlib", "keras")
    keras_backend = "jax"
    forks = True
    options = ("jit", "eager", "float64")
    zero_initializers = True
    differentiates = True

    def start(self) -> None:
        """Let float64 be float64, which JAX otherwise computes in float32."""
        import jax

        jax.config.update("jax_enable_x64", True)

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        function = "call" if option == "eager" else "jax.jit(call)"
        return f"""{_CALL}
    outputs = {function}(inputs if len(inputs) > 1 else inputs[0])
    return outputs if isinstance(outputs, list) else [outputs]
"""

    def gradient_script(self, option: str) -> str:
        """Source of a function that differentiates a Keras model."""
        function = "call" if option == "eager" else "jax.jit(call)"
        return f"""{_CALL}
    def total(floating):
        rest = iter(floating)
        given = [next(rest) if i.dtype.kind == "f" else i for i in inputs]
        outputs = {function}(given if len(given) > 1 else given[0])
        outputs = outputs if isinstance(outputs, list) else [outputs]
        weights = [np.cos(np.arange(o.size)).reshape(o.shape) for o in outputs]
        return sum((o.astype("float64") * w).sum() for o, w in zip(outputs, weights))

    return jax.grad(total)([i for i in inputs if i.dtype.kind == "f"])
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """A function of the inputs."""
        import jax

        model = model_under_test.keras(
            dtype="float64" if option == "float64" else None,
            zero_initializers=self.zero_initializers,
        )
        trainable = [v.value for v in model.trainable_variables]
        fixed = [v.value for v in model.non_trainable_variables]

        def call(inputs: Any) -> Any:
            return model.stateless_call(trainable, fixed, inputs, training=False)[0]

        return call if option == "eager" else jax.jit(call)

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        given = list(inputs)
        return numpy_list(compiled(given if len(given) > 1 else given[0]))

    def gradients(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """By reverse-mode differentiation."""
        import jax

        def total(floating: Arrays) -> Any:
            rest = iter(floating)
            given = [next(rest) if i.dtype.kind == "f" else i for i in inputs]
            outputs = compiled(given if len(given) > 1 else given[0])
            many = outputs if isinstance(outputs, list | tuple) else [outputs]
            return sum((o.astype("float64") * cotangent(o.shape)).sum() for o in many)

        return numpy_list(jax.grad(total)([i for i in inputs if i.dtype.kind == "f"]))
