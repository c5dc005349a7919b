"""PyTorch through Keras' backend: eager, and compiled by TorchDynamo; float64 as a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.library import LIBRARIES, Arrays, Library
from asterism.libraries.reference import perturbed
from asterism.libraries.subject import Subject


@LIBRARIES.register("pytorch")
class PyTorch(Library):
    """Keras' PyTorch backend."""

    name = "pytorch"
    packages = ("torch", "keras")
    keras_backend = "torch"
    forks = True
    options = ("eager", "compile", "float64", "perturbed")
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

    def compile(self, subject: Subject, option: str) -> Any:
        """The module, compiled where the option says so."""
        import torch

        reference = option in ("float64", "perturbed")
        model = subject.keras(dtype="float64" if reference else None)
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
        with torch.no_grad():
            outputs = compiled(given if len(given) > 1 else given[0], training=False)
        many = outputs if isinstance(outputs, list | tuple) else [outputs]
        return [o.detach().numpy() for o in many]


class _Perturbed:
    """The float64 model where inputs and weights are off by float32's rounding."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._weights = model.get_weights()

    def __call__(self, inputs: Any, training: bool) -> Any:
        import torch

        many = inputs if isinstance(inputs, list) else [inputs]
        moved = [torch.from_numpy(perturbed(i.numpy())) for i in many]
        self._model.set_weights([perturbed(w) for w in self._weights])
        try:
            return self._model(moved if len(moved) > 1 else moved[0], training=training)
        finally:
            self._model.set_weights(self._weights)
