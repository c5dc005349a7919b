"""JAX through Keras' backend: compiled or not, vectorised, exported; float64 as a reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.adapters.fixed_draws import fixed_draws
from asterism.libraries.adapters.jax_scripts import plain_script, question_script
from asterism.libraries.adapters.library import LIBRARIES, Arrays, Library, numpy_list
from asterism.libraries.adapters.model_under_test import ModelUnderTest
from asterism.libraries.adapters.questions import (
    HESSIAN,
    TRAINING,
    WEIGHT_GRADIENT,
    KerasFunction,
    cotangent,
    optimizer_of,
    squared_error,
)

#: Settings of XLA that leave its optimisations out.
_UNOPTIMISED = {"xla_backend_optimization_level": 0}


@dataclass(frozen=True)
class JaxFunction(KerasFunction):
    """A Keras model as functions of JAX.

    Args:
        of_weights: of the trainable weights and a batch; None where they are fixed.
        of_item: of the weights and the inputs of one item, where derivatives are taken by item.
        jit: whether a step of training is compiled; None where items are computed one by one.
    """

    of_weights: Callable[[Any, Any], Any] | None = None
    of_item: Callable[[Any, Any], Any] | None = None
    jit: bool | None = True


@LIBRARIES.register("jax")
class Jax(Library):
    """Keras' JAX backend.

    ``vmap`` runs the compiled model of one item over the batch, and differentiates that;
    ``vmap_of_gradient`` runs the derivative of the compiled model over the batch.
    """

    name = "jax"
    packages = ("jax", "jaxlib", "keras")
    keras_backend = "jax"
    forks = True
    options: ClassVar[tuple[str, ...]] = (
        "jit",
        "eager",
        "vmap",
        "vmap_of_gradient",
        "export",
        "float64",
    )
    zero_initializers = True
    differentiates = True

    def start(self) -> None:
        """Let float64 be float64, which JAX otherwise computes in float32."""
        import jax

        jax.config.update("jax_enable_x64", True)

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        return plain_script(option)

    def question_script(self, option: str, question: str) -> str:
        """Source of a function that answers a question about a Keras model."""
        return question_script(option, question)

    def compile(self, model_under_test: ModelUnderTest, option: str) -> JaxFunction:
        """Functions of the inputs."""
        import jax

        model = model_under_test.keras(
            dtype="float64" if option == "float64" else None,
            zero_initializers=self.zero_initializers,
        )
        trainable = [v.value for v in model.trainable_variables]
        fixed = [v.value for v in model.non_trainable_variables]

        def call(weights: Any, inputs: Any) -> Any:
            return model.stateless_call(weights, fixed, inputs, training=False)[0]

        def single(weights: Any, item: Any) -> Any:
            outputs = call(weights, jax.tree.map(lambda a: a[None], item))
            return jax.tree.map(lambda a: a[0], outputs)

        def batch(inputs: Any, training: bool = False) -> Any:
            return call(trainable, inputs)

        if option == "export":
            return JaxFunction(_Exported(jax.jit(lambda inputs: call(trainable, inputs))))
        layers = KerasFunction.of(batch, model, model_under_test).layers
        if option == "eager":
            return JaxFunction(batch, model, layers, call, jit=False)
        if option.startswith("vmap"):
            compiled = jax.jit(single)
            over = jax.vmap(compiled, (None, 0))
            alone = compiled if option == "vmap_of_gradient" else None
            return JaxFunction(
                lambda inputs, training: over(trainable, inputs),
                *(model, layers, over, alone, None),
            )
        # A reference need not run fast: to optimise it takes longer than to run it.
        settings = {"compiler_options": _UNOPTIMISED} if option == "float64" else {}
        compiled = jax.jit(lambda inputs: call(trainable, inputs), **settings)
        return JaxFunction(lambda inputs, training: compiled(inputs), model, layers, jax.jit(call))

    def run(self, compiled: Callable[[Any], Any], inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays.

        Inputs are copied: JAX may work on the memory of a NumPy array, as its alignment has it.
        """
        import jax

        given = [jax.numpy.array(i) for i in inputs]
        return numpy_list(compiled(given if len(given) > 1 else given[0]))

    def answer(
        self, compiled: JaxFunction, question: str, inputs: Sequence[NDArray[Any]]
    ) -> Arrays:
        """Derivatives in reverse mode, second ones in forward over reverse mode; or a step."""
        import jax

        compiled.require_model(question)
        if question in TRAINING:
            return _trained(compiled, question, inputs)
        model, function = compiled.model, compiled.of_item or compiled.of_weights
        assert function is not None, "one that has a model has a function of its weights"
        weights = [v.value for v in model.trainable_variables]
        floating = [i for i in inputs if i.dtype.kind == "f"]
        given = list(inputs) if len(inputs) > 1 else inputs[0]
        shapes = jax.tree.leaves(jax.eval_shape(compiled.of_weights, weights, given))
        cosines = [cotangent(o.shape) for o in shapes]
        along = [cotangent(i.shape).astype(i.dtype) for i in floating]

        def total(weights: Any, floating: Any, inputs: Any, cosines: Any) -> Any:
            rest = iter(floating)
            given = [next(rest) if i.dtype.kind == "f" else i for i in inputs]
            outputs = jax.tree.leaves(function(weights, given if len(given) > 1 else given[0]))
            return sum(
                (o.astype("float64") * c).sum() for o, c in zip(outputs, cosines, strict=True)
            )

        def derivative(weights: Any, floating: Any, inputs: Any, cosines: Any, along: Any) -> Any:
            if question == WEIGHT_GRADIENT:
                return jax.grad(total)(weights, floating, inputs, cosines)
            gradient = jax.grad(total, 1)
            if question == HESSIAN:
                return jax.jvp(
                    lambda f: gradient(weights, f, inputs, cosines), (floating,), (along,)
                )[1]
            return gradient(weights, floating, inputs, cosines)

        if not (weights if question == WEIGHT_GRADIENT else floating):
            found: list[Any] = []
        elif compiled.of_item is None:
            found = derivative(weights, floating, list(inputs), cosines, along)
        else:
            by_item = jax.vmap(derivative, (None, 0, 0, 0, 0))
            found = by_item(weights, floating, list(inputs), cosines, along)
            if question == WEIGHT_GRADIENT:
                found = [g.sum(0) for g in found]
        if question != WEIGHT_GRADIENT:
            return numpy_list(found)
        of = {id(v): g for v, g in zip(model.trainable_variables, found, strict=True)}
        return compiled.by_layer(numpy_list([of[id(v)] for v in compiled.trainable]))


def _trained(compiled: JaxFunction, question: str, inputs: Sequence[NDArray[Any]]) -> Arrays:
    """The loss, and the weights of each layer after one step."""
    import jax

    if compiled.jit is None:
        raise NotImplementedError(f"{question} is not supported over single items")
    model = compiled.model
    kind = model.outputs[0].dtype
    weights = [v.value for v in model.trainable_variables]
    fixed = [v.value for v in model.non_trainable_variables]

    def loss_of(weights: Any, inputs: Any) -> Any:
        outputs, after, losses = model.stateless_call(
            weights, fixed, inputs, training=True, return_losses=True
        )
        return squared_error(outputs, losses, kind), after

    step = jax.value_and_grad(loss_of, has_aux=True)
    given = list(inputs) if len(inputs) > 1 else inputs[0]
    with fixed_draws():
        (loss, after), gradients = (jax.jit(step) if compiled.jit else step)(weights, given)
    if weights:
        optimizer = optimizer_of(question)
        optimizer.build(model.trainable_variables)
        states = [v.value for v in optimizer.variables]
        weights, _ = optimizer.stateless_apply(states, gradients, weights)
    variables = (*model.trainable_variables, *model.non_trainable_variables)
    values = {id(v): np.asarray(w) for v, w in zip(variables, (*weights, *after), strict=True)}
    return [np.asarray(loss, kind), *compiled.weights(values)]


class _Exported:
    """A compiled function that goes through JAX's serialised form, for each shape of inputs."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, inputs: Any, training: bool) -> Any:
        from jax import export

        program = export.export(self._function)(inputs)
        return export.deserialize(program.serialize()).call(inputs)
