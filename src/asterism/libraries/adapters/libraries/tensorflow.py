"""TensorFlow: eager, as a graph, and through XLA; float64 as a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, Library, cotangent, numpy_list
from asterism.libraries.adapters.model_under_test import ModelUnderTest


@LIBRARIES.register("tensorflow")
class TensorFlow(Library):
    """Keras' TensorFlow backend."""

    name = "tensorflow"
    packages = ("tensorflow", "keras")
    keras_backend = "tensorflow"
    forks = True
    options = ("eager", "graph", "xla", "float64")
    differentiates = True
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

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        return f"""
def run(model, inputs):
    import tensorflow as tf

    inputs = [tf.constant(i) for i in inputs]
    outputs = {_FUNCTIONS[option]}(inputs if len(inputs) > 1 else inputs[0], training=False)
    return outputs if isinstance(outputs, list) else [outputs]
"""

    def gradient_script(self, option: str) -> str:
        """Source of a function that differentiates a Keras model."""
        return f"""
def run(model, inputs):
    import tensorflow as tf

    inputs = [tf.constant(i) for i in inputs]
    floating = [i for i in inputs if i.dtype.is_floating]
    function = {_FUNCTIONS[option]}
    with tf.GradientTape() as tape:
        tape.watch(floating)
        outputs = function(inputs if len(inputs) > 1 else inputs[0], training=False)
        total = 0.0
        for o in outputs if isinstance(outputs, list) else [outputs]:
            weights = np.cos(np.arange(o.numpy().size)).reshape(o.shape)
            total += tf.reduce_sum(tf.cast(o, "float64") * weights)
    return tape.gradient(total, floating, unconnected_gradients="zero")
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """A function of the inputs."""
        import tensorflow as tf

        model = model_under_test.keras(dtype="float64" if option == "float64" else None)
        if option in ("eager", "float64"):
            return lambda inputs: model(inputs, training=False)
        return tf.function(
            lambda inputs: model(inputs, training=False), jit_compile=option == "xla"
        )

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        import tensorflow as tf

        given = [tf.constant(i) for i in inputs]
        return numpy_list(compiled(given if len(given) > 1 else given[0]))

    def gradients(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """By a gradient tape."""
        import tensorflow as tf

        given = [tf.constant(i) for i in inputs]
        floating = [i for i in given if i.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floating)
            outputs = compiled(given if len(given) > 1 else given[0])
            many = outputs if isinstance(outputs, list | tuple) else [outputs]
            total = tf.add_n(
                [tf.reduce_sum(tf.cast(o, "float64") * cotangent(tuple(o.shape))) for o in many]
            )
        return numpy_list(tape.gradient(total, floating, unconnected_gradients="zero"))


#: How a reproducer makes a function of the model.
_FUNCTIONS = {
    "eager": "model",
    "float64": "model",
    "graph": "tf.function(model)",
    "xla": "tf.function(model, jit_compile=True)",
}
