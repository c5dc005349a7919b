"""TensorFlow: eager, as a graph, through XLA, from saved files; float64 as a reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.adapters.fixed_draws import fixed_draws
from asterism.libraries.adapters.library import LIBRARIES, Arrays, Library, numpy_list
from asterism.libraries.adapters.model_under_test import ModelUnderTest
from asterism.libraries.adapters.question_scripts import (
    COSINES,
    LOSS,
    WEIGHTS,
    flat_source,
    optimizer_source,
)
from asterism.libraries.adapters.questions import (
    GRADIENT,
    HESSIAN,
    TRAINING,
    WEIGHT_GRADIENT,
    KerasFunction,
    cotangent,
    optimizer_of,
    squared_error,
)
from asterism.libraries.adapters.reloading import SUFFIXES, reloaded, saved_model, source_of


@LIBRARIES.register("tensorflow")
class TensorFlow(Library):
    """Keras' TensorFlow backend."""

    name = "tensorflow"
    packages = ("tensorflow", "keras")
    keras_backend = "tensorflow"
    forks = True
    options = ("eager", "graph", "xla", "saved_model", "keras_file", "h5_file", "float64")
    differentiates = True
    unsupported = (
        r"NHWC",
        r"Current (CPU|libxsmm)",
        r"No registered '\w+' OpKernel",
        r"not in (the )?list of allowed values",
        r"Detected unsupported operations when trying to compile graph",
    )

    def start(self) -> None:
        """One thread, so that sums are added up in the same order every time."""
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        return self._script(option, "")

    def script_after(self, option: str, first: str) -> str:
        """The same after other inputs."""
        return self._script(option, first)

    def _script(self, option: str, first: str) -> str:
        more = "" if option == "saved_model" else ", training=False"
        made = before = ""
        if first:
            made = f"    first = [tf.constant({first}) for i in inputs]\n"
            before = f"    function(first if len(first) > 1 else first[0]{more})\n"
        return f"""{_helper(option)}
def run(model, inputs):
    import tensorflow as tf

{made}    inputs = [tf.constant(i) for i in inputs]
    function = {_FUNCTIONS[option]}
{before}    outputs = function(inputs if len(inputs) > 1 else inputs[0]{more})
    return outputs if isinstance(outputs, list) else [outputs]
"""

    def question_script(self, option: str, question: str) -> str:
        """Source of a function that answers a question about a Keras model."""
        more = "" if option == "saved_model" else ", training=False"
        begin = f"""{_helper(option)}
def run(model, inputs):
    import tensorflow as tf

    inputs = [tf.constant(i) for i in inputs]
    given = inputs if len(inputs) > 1 else inputs[0]
    floating = [i for i in inputs if i.dtype.is_floating]
    function = {_FUNCTIONS[option]}
{COSINES}
    def summed(tensors):
        pairs = zip(tensors, cosines_of(tensors))
        return tf.add_n([tf.reduce_sum(tf.cast(t, "float64") * c) for t, c in pairs])

    def gradient(wanted):
        with tf.GradientTape() as tape:
            tape.watch(floating)
            outputs = function(given{more})
            total = summed(outputs if isinstance(outputs, list) else [outputs])
        return tape.gradient(total, wanted, unconnected_gradients="zero")
"""
        if question == GRADIENT:
            return f"{begin}\n    return gradient(floating)\n"
        if question == HESSIAN:
            return f"""{begin}
    with tf.GradientTape() as tape:
        tape.watch(floating)
        total = summed(gradient(floating))
    return tape.gradient(total, floating, unconnected_gradients="zero")
"""
        if question == WEIGHT_GRADIENT:
            return f"""{begin}{flat_source(option)}
    variables = model.trainable_variables
    found = [tf.convert_to_tensor(g) for g in gradient([v.value for v in variables])]
    return by_layer(zip(variables, found), lambda layer: layer.trainable_variables)
"""
        return f"""{begin}{flat_source(option)}{LOSS}{WEIGHTS}
    def in_training(inputs):
        return model(inputs, training=True), model.losses

    step = {_TRACED.get(option, "in_training")}
    variables = model.trainable_variables
    with tf.GradientTape() as tape:
        loss = loss_of(*step(given))
    gradients = tape.gradient(loss, [v.value for v in variables], unconnected_gradients="zero")
    {optimizer_source(question)}.apply(gradients, variables)
    values = [(v, v.numpy()) for v in model.variables]
    return [np.asarray(loss, model.outputs[0].dtype), *by_layer(values, floating_weights)]
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> KerasFunction:
        """A function of the inputs."""
        import tensorflow as tf

        model = model_under_test.keras(dtype="float64" if option == "float64" else None)
        if option == "saved_model":
            loaded = saved_model(model)  # it must live as long as its function
            return KerasFunction(lambda inputs, training: loaded.serve(inputs))
        if option in SUFFIXES:
            model = reloaded(model, SUFFIXES[option])

        def call(inputs: Any, training: bool) -> Any:
            outputs = model(inputs, training=training)
            # What layers add to the loss belongs to the trace in which they ran.
            return (outputs, model.losses) if training else outputs

        if option not in ("graph", "xla"):
            return KerasFunction.of(call, model, model_under_test)
        # Keras' layers need no rewriting, which would put lines of this file into messages.
        traced = tf.function(call, jit_compile=option == "xla", autograph=False)
        return KerasFunction.of(traced, model, model_under_test)

    def run(self, compiled: Callable[[Any], Any], inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        import tensorflow as tf

        given = [tf.constant(i) for i in inputs]
        return numpy_list(compiled(given if len(given) > 1 else given[0]))

    def answer(
        self, compiled: KerasFunction, question: str, inputs: Sequence[NDArray[Any]]
    ) -> Arrays:
        """By gradient tapes."""
        import tensorflow as tf

        compiled.require_model(question)
        given = [tf.constant(i) for i in inputs]
        if question in TRAINING:
            return _trained(compiled, question, given)
        floating = [i for i in given if i.dtype.is_floating]
        if question == WEIGHT_GRADIENT:
            found = _gradient(compiled, given, [v.value for v in compiled.trainable])
            return compiled.by_layer([tf.convert_to_tensor(g).numpy() for g in found])
        if question == GRADIENT or not floating:
            return numpy_list(_gradient(compiled, given, floating))
        with tf.GradientTape() as tape:
            tape.watch(floating)
            along = _summed(_gradient(compiled, given, floating))
        return numpy_list(tape.gradient(along, floating, unconnected_gradients="zero"))


def _gradient(compiled: KerasFunction, given: list[Any], wanted: list[Any]) -> Any:
    """Derivatives of the weighted outputs."""
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch([i for i in given if i.dtype.is_floating])
        outputs = compiled(given if len(given) > 1 else given[0])
        total = _summed(outputs if isinstance(outputs, list | tuple) else [outputs])
    return tape.gradient(total, wanted, unconnected_gradients="zero")


def _summed(tensors: Sequence[Any]) -> Any:
    """The sum of all elements, each weighted."""
    import tensorflow as tf

    return tf.add_n(
        [tf.reduce_sum(tf.cast(t, "float64") * cotangent(tuple(t.shape))) for t in tensors]
    )


def _trained(compiled: KerasFunction, question: str, given: list[Any]) -> Arrays:
    """The loss, and the weights of each layer after one step."""
    import tensorflow as tf

    model = compiled.model
    kind, variables = model.outputs[0].dtype, compiled.trainable
    with compiled.kept(), fixed_draws():
        with tf.GradientTape() as tape:
            outputs, losses = compiled(given if len(given) > 1 else given[0], training=True)
            loss = squared_error(outputs, losses, kind)
        gradients = tape.gradient(loss, [v.value for v in variables], unconnected_gradients="zero")
        if variables:
            optimizer_of(question).apply(gradients, variables)
        return [np.asarray(loss, kind), *compiled.weights()]


#: How a reproducer makes a function of the model.
_FUNCTIONS = {
    "eager": "model",
    "float64": "model",
    "graph": "tf.function(model)",
    "xla": "tf.function(model, jit_compile=True)",
    "saved_model": "saved_model(model).serve",
    **{option: f'reloaded(model, "{suffix}")' for option, suffix in SUFFIXES.items()},
}

#: How it makes one of a training step's forward pass, where the option traces.
_TRACED = {
    "graph": "tf.function(in_training)",
    "xla": "tf.function(in_training, jit_compile=True)",
}


def _helper(option: str) -> str:
    """The function that a reproducer's model goes through."""
    if option == "saved_model":
        return source_of(saved_model)
    return source_of(reloaded) if option in SUFFIXES else ""
