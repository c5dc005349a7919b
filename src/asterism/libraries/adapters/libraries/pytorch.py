"""PyTorch through Keras' backend: eager, compiled, exported, packaged; float64 as a reference."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.adapters.buffers import buffers_of, lies_in, strides_of
from asterism.libraries.adapters.fixed_draws import fixed_draws
from asterism.libraries.adapters.library import LIBRARIES, Arrays, Library, WrongBuffersError
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
from asterism.libraries.adapters.reference import PERTURBATIONS, STAND_INS, perturbed, probed
from asterism.libraries.adapters.reloading import SUFFIXES, exported, reloaded, source_of
from asterism.libraries.adapters.whole_graphs import (
    DIFFERENTIABLE,
    WHOLE,
    by_shape,
    program_of,
)

#: How often Dynamo may compile the same code for one model: more than any model has layers.
_RECOMPILED = 1024


@LIBRARIES.register("pytorch")
class PyTorch(Library):
    """Keras' PyTorch backend."""

    name = "pytorch"
    packages = ("torch", "keras")
    keras_backend = "torch"
    forks = True
    options = (
        "eager",
        "compile",
        "compile_dynamic",
        *WHOLE,
        "export",
        "keras_file",
        "float64",
        *PERTURBATIONS,
        *STAND_INS,
    )
    differentiates = True
    unsupported = (
        r"expected scalar type",
        r"not implemented for '\w+'",
        r"Constraints violated",  # torch.export of what fixes the size of batches itself
    )

    def start(self) -> None:
        """One thread, so that sums are added up in the same order every time.

        Layers share Keras' code, which Dynamo compiles anew for each of them. By default it runs
        eagerly from the ninth on.
        """
        import torch

        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch._dynamo.config.recompile_limit = _RECOMPILED
        torch._dynamo.config.accumulated_recompile_limit = _RECOMPILED

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        return self._script(option, "")

    def script_after(self, option: str, first: str) -> str:
        """The same after other inputs."""
        return self._script(option, first)

    def _script(self, option: str, first: str) -> str:
        made = before = ""
        if first:
            made = f"    first = [torch.from_numpy({first}) for i in inputs]\n"
            before = "        function(first if len(first) > 1 else first[0], training=False)\n"
        return f"""{_helper(option)}
def run(model, inputs):
    import torch

{made}    inputs = [torch.from_numpy(i) for i in inputs]
    with torch.no_grad():
        function = {_FUNCTIONS[option]}
{before}        outputs = function(inputs if len(inputs) > 1 else inputs[0], training=False)
    return [o.numpy() for o in (outputs if isinstance(outputs, list) else [outputs])]
"""

    def overwritten_script(self, option: str) -> str:
        """Source of a function that does what :meth:`run_overwritten` does."""
        return f"""{_helper(option)}

class WrongBuffersError(ArithmeticError):
    pass

{"".join(source_of(part) + chr(10) for part in (buffers_of, strides_of, lies_in))}
def run(model, inputs):
    import torch

    eager, _ = buffers_of(model, inputs)
    said, outputs = buffers_of({_FUNCTIONS[option]}, inputs)
    for number, (one, other) in enumerate(zip(said, eager, strict=True)):
        if one != other:
            raise WrongBuffersError(
                f"output {{number}} has {{lies_in(one)}}, and {{lies_in(other)}} where it runs "
                "eagerly"
            )
    return outputs
"""

    def question_script(self, option: str, question: str) -> str:
        """Source of a function that answers a question about a Keras model."""
        begin = f"""{_helper(option)}
def run(model, inputs):
    import torch

    inputs = [torch.from_numpy(i) for i in inputs]
    given = inputs if len(inputs) > 1 else inputs[0]
    function = {_FUNCTIONS[option]}
{COSINES}
    def summed(tensors):
        pairs = zip(tensors, cosines_of(tensors))
        return sum((t.double() * torch.from_numpy(c)).sum() for t, c in pairs)

    def gradient(wanted, **more):
        outputs = function(given, training=False)
        total = summed(outputs if isinstance(outputs, list) else [outputs])
        return torch.autograd.grad(total, wanted, materialize_grads=True, **more)
"""
        floating = "[i.requires_grad_() for i in inputs if i.is_floating_point()]"
        if question == GRADIENT:
            return f"""{begin}
    floating = {floating}
    return gradient(floating) if floating else []
"""
        if question == HESSIAN:
            return f"""{begin}
    floating = {floating}
    if not floating:
        return []
    total = summed(gradient(floating, create_graph=True))
    if not total.requires_grad:
        return [torch.zeros_like(i) for i in floating]
    return torch.autograd.grad(total, floating, materialize_grads=True)
"""
        if question == WEIGHT_GRADIENT:
            return f"""{begin}{flat_source(option)}
    variables = model.trainable_variables
    values = zip(variables, gradient([v.value for v in variables]))
    return by_layer(values, lambda layer: layer.trainable_variables)
"""
        return f"""{begin}{flat_source(option)}{LOSS}{WEIGHTS}
    variables = model.trainable_variables
    loss = loss_of(function(given, training=True), model.losses)
    weights = [v.value for v in variables]
    gradients = torch.autograd.grad(loss, weights, materialize_grads=True) if weights else []
    with torch.no_grad():
        {optimizer_source(question)}.apply(gradients, variables)
    values = [(v, v.value.detach().numpy()) for v in model.variables]
    loss = loss.detach().numpy().astype(model.outputs[0].dtype)
    return [loss, *by_layer(values, floating_weights)]
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> KerasFunction:
        """The module, compiled or exported where the option says so."""
        import torch

        reference = option in ("float64", *PERTURBATIONS, *STAND_INS)
        model = model_under_test.keras(dtype="float64" if reference else None)
        model.eval()
        if option == "export":
            call = exported(model, model_under_test.batch or 1)
            return KerasFunction(call, differentiable=True)
        if option in WHOLE:
            return KerasFunction(WHOLE[option](model), differentiable=option in DIFFERENTIABLE)
        call = model
        if option in PERTURBATIONS:
            call = _Perturbed(model, option)
        if option in STAND_INS:
            call = _Probed(model, option)
        if option in ("compile", "compile_dynamic"):
            torch._dynamo.reset()
            call = torch.compile(model, dynamic=True if option == "compile_dynamic" else None)
        if option in SUFFIXES:
            call = model = reloaded(model, SUFFIXES[option])
        return KerasFunction.of(call, model, model_under_test)

    def run(self, compiled: Callable[..., Any], inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        import torch

        given = [torch.from_numpy(i.copy()) for i in inputs]
        with torch.no_grad(), _moved(compiled):
            outputs = compiled(given if len(given) > 1 else given[0], training=False)
        many = outputs if isinstance(outputs, list | tuple) else [outputs]
        return [o.detach().numpy() for o in many]

    def run_overwritten(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """See :meth:`Library.run_overwritten`. The model run eagerly says what is shared.

        Raises:
            WrongBuffersError: compiled, an output has other strides or shares an input's memory.
        """
        eager, _ = buffers_of(getattr(compiled, "model", None) or compiled, inputs)
        outputs: Arrays
        said, outputs = buffers_of(compiled, inputs)
        for number, (one, other) in enumerate(zip(said, eager, strict=True)):
            if one != other:
                raise WrongBuffersError(
                    f"output {number} has {lies_in(one)}, and {lies_in(other)} where it runs "
                    "eagerly"
                )
        return outputs

    def answer(
        self, compiled: KerasFunction, question: str, inputs: Sequence[NDArray[Any]]
    ) -> Arrays:
        """By reverse-mode differentiation."""
        import torch

        compiled.require_model(question)
        given = [torch.from_numpy(i.copy()) for i in inputs]
        with _moved(compiled):
            if question in TRAINING:
                return _trained(compiled, question, given)
            if question == WEIGHT_GRADIENT:
                wanted = [v.value for v in compiled.trainable]
                found = _gradient(compiled, given, wanted) if wanted else []
                return compiled.by_layer([g.numpy().copy() for g in found])
            floating = [i.requires_grad_() for i in given if i.is_floating_point()]
            if not floating:  # PyTorch does not differentiate by nothing
                return []
            found = _gradient(compiled, given, floating, again=question == HESSIAN)
            if question == HESSIAN:
                along = _summed(found)
                if not along.requires_grad:  # a linear model
                    return [np.zeros_like(i.detach().numpy()) for i in floating]
                found = torch.autograd.grad(along, floating, materialize_grads=True)
            return [g.numpy() for g in found]


def _gradient(
    compiled: KerasFunction, given: list[Any], wanted: list[Any], *, again: bool = False
) -> Sequence[Any]:
    """Derivatives of the weighted outputs."""
    import torch

    outputs = compiled(given if len(given) > 1 else given[0], training=False)
    total = _summed(outputs if isinstance(outputs, list | tuple) else [outputs])
    return torch.autograd.grad(total, wanted, create_graph=again, materialize_grads=True)


def _summed(tensors: Sequence[Any]) -> Any:
    """The sum of all elements, each weighted."""
    import torch

    weighted = [t.double() * torch.from_numpy(cotangent(tuple(t.shape))) for t in tensors]
    return torch.stack([w.sum() for w in weighted]).sum()


def _trained(compiled: KerasFunction, question: str, given: list[Any]) -> Arrays:
    """The loss, and the weights of each layer after one step."""
    import torch

    model = compiled.model
    kind, variables = model.outputs[0].dtype, compiled.trainable
    with compiled.kept(), fixed_draws():
        outputs = compiled(given if len(given) > 1 else given[0], training=True)
        loss = squared_error(outputs, model.losses, kind)
        if variables:
            weights = [v.value for v in variables]
            gradients = torch.autograd.grad(loss, weights, materialize_grads=True)
            with torch.no_grad():
                optimizer_of(question).apply(gradients, variables)
        return [loss.detach().numpy().astype(kind), *compiled.weights()]


#: How a reproducer makes a function of the model.
_FUNCTIONS = {
    "eager": "model",
    "float64": "model",
    **dict.fromkeys((*PERTURBATIONS, *STAND_INS), "model"),
    "compile": "torch.compile(model)",
    "compile_dynamic": "torch.compile(model, dynamic=True)",
    **{option: f"{function.__name__}(model)" for option, function in WHOLE.items()},
    "export": "exported(model, len(inputs[0]))",
    **{option: f'reloaded(model, "{suffix}")' for option, suffix in SUFFIXES.items()},
}


def _helper(option: str) -> str:
    """The functions that a reproducer's model goes through."""
    parts: tuple[Any, ...] = (reloaded,) if option in SUFFIXES else ()
    if option == "export":
        parts = (program_of, exported)
    if option in WHOLE:
        parts = (program_of, by_shape, WHOLE[option])
    return "\n".join(map(source_of, parts))


class _OnOtherWeights(ABC):
    """The float64 model with other weights and inputs."""

    def __init__(self, model: Any, option: str) -> None:
        self._model, self._option = model, option

    @abstractmethod
    def weights(self, array: NDArray[Any]) -> NDArray[Any]:
        """The weights in place of a layer's own."""

    @contextmanager
    def moved(self) -> Iterator[None]:
        """The model, which other backends share, has the other weights only inside the block."""
        weights = self._model.get_weights()
        self._model.set_weights([self.weights(w) for w in weights])
        try:
            yield
        finally:
            self._model.set_weights(weights)


class _Probed(_OnOtherWeights):
    """With finite numbers in place of the special ones."""

    def weights(self, array: NDArray[Any]) -> NDArray[Any]:
        """Probed ones."""
        return probed(array, self._option)

    def __call__(self, inputs: Any, training: bool) -> Any:
        import torch

        def plain(tensor: Any) -> Any:
            return torch.from_numpy(probed(tensor.numpy(), self._option))

        given = [plain(i) for i in inputs] if isinstance(inputs, list) else plain(inputs)
        return self._model(given, training=training)


class _Perturbed(_OnOtherWeights):
    """Where inputs and, inside :meth:`moved`, weights are off by rounding."""

    def weights(self, array: NDArray[Any]) -> NDArray[Any]:
        """Moved ones."""
        return perturbed(array, self._option)

    def __call__(self, inputs: Any, training: bool) -> Any:
        import torch

        def off(tensor: Any) -> Any:
            factors = perturbed(np.ones(tuple(tensor.shape)), self._option)
            return tensor * torch.from_numpy(factors) if tensor.is_floating_point() else tensor

        given = [off(i) for i in inputs] if isinstance(inputs, list) else off(inputs)
        return self._model(given, training=training)


def _moved(compiled: Any) -> AbstractContextManager[None]:
    call = getattr(compiled, "call", None)
    return call.moved() if isinstance(call, _OnOtherWeights) else nullcontext()
