"""PyTorch through Keras' backend: eager, and compiled by TorchDynamo; float64 as a reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, Library, cotangent
from asterism.libraries.adapters.model_under_test import ModelUnderTest
from asterism.libraries.adapters.reference import perturbed


@LIBRARIES.register("pytorch")
class PyTorch(Library):
    """Keras' PyTorch backend."""

    name = "pytorch"
    packages = ("torch", "keras")
    keras_backend = "torch"
    forks = True
    options = ("eager", "compile", "float64", "perturbed")
    differentiates = True
    unsupported = (r"expected scalar type", r"not implemented for '\w+'")

    def start(self) -> None:
        """One thread, so that sums are added up in the same order every time."""
        import torch

        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True, warn_only=True)

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        function = "torch.compile(model)" if option == "compile" else "model"
        return f"""
def run(model, inputs):
    import torch

    inputs = [torch.from_numpy(i) for i in inputs]
    with torch.no_grad():
        outputs = {function}(inputs if len(inputs) > 1 else inputs[0], training=False)
    return [o.numpy() for o in (outputs if isinstance(outputs, list) else [outputs])]
"""

    def gradient_script(self, option: str) -> str:
        """Source of a function that differentiates a Keras model."""
        function = "torch.compile(model)" if option == "compile" else "model"
        return f"""
def run(model, inputs):
    import torch

    inputs = [torch.from_numpy(i) for i in inputs]
    floating = [i.requires_grad_() for i in inputs if i.is_floating_point()]
    outputs = {function}(inputs if len(inputs) > 1 else inputs[0], training=False)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    weights = [torch.cos(torch.arange(o.numel()).double()).reshape(o.shape) for o in outputs]
    total = sum((o.double() * w).sum() for o, w in zip(outputs, weights))
    return torch.autograd.grad(total, floating, materialize_grads=True) if floating else []
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """The module, compiled where the option says so."""
        import torch

        reference = option in ("float64", "perturbed")
        model = model_under_test.keras(dtype="float64" if reference else None)
        model.eval()
        if option == "perturbed":
            return _Perturbed(model)
        if option == "compile":
            torch._dynamo.reset()
            return torch.compile(model)
        return model

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        import torch

        given = [torch.from_numpy(i.copy()) for i in inputs]
        with torch.no_grad(), _moved(compiled):
            outputs = compiled(given if len(given) > 1 else given[0], training=False)
        many = outputs if isinstance(outputs, list | tuple) else [outputs]
        return [o.detach().numpy() for o in many]

    def gradients(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """By reverse-mode differentiation."""
        import torch

        given = [torch.from_numpy(i.copy()) for i in inputs]
        floating = [i.requires_grad_() for i in given if i.is_floating_point()]
        if not floating:  # PyTorch does not differentiate by nothing
            return []
        with _moved(compiled):
            outputs = compiled(given if len(given) > 1 else given[0], training=False)
            many = outputs if isinstance(outputs, list | tuple) else [outputs]
            weighted = [o.double() * torch.from_numpy(cotangent(tuple(o.shape))) for o in many]
            total = torch.stack([w.sum() for w in weighted]).sum()
            found = torch.autograd.grad(total, floating, materialize_grads=True)
        return [g.numpy() for g in found]


class _Perturbed:
    """The float64 model where inputs and, inside :meth:`moved`, weights are off by rounding."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @contextmanager
    def moved(self) -> Iterator[None]:
        """The model, which other backends share, has the moved weights only inside the block."""
        weights = self._model.get_weights()
        self._model.set_weights([perturbed(w) for w in weights])
        try:
            yield
        finally:
            self._model.set_weights(weights)

    def __call__(self, inputs: Any, training: bool) -> Any:
        import torch

        def off(tensor: Any) -> Any:
            factors = perturbed(np.ones(tuple(tensor.shape)))
            return tensor * torch.from_numpy(factors) if tensor.is_floating_point() else tensor

        given = [off(i) for i in inputs] if isinstance(inputs, list) else off(inputs)
        return self._model(given, training=training)


def _moved(compiled: Any) -> AbstractContextManager[None]:
    return compiled.moved() if isinstance(compiled, _Perturbed) else nullcontext()
