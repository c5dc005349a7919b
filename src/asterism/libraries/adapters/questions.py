"""What a model is asked beside its outputs: derivatives, and its weights after a training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.adapters.model_under_test import ModelUnderTest
from asterism.memo.graphs.keras_arguments import layer_name

#: Derivatives of the weighted sum of the outputs by the inputs and by the weights, and the second
#: derivatives by the inputs: the Hessian's product with a vector of cosines.
GRADIENT, WEIGHT_GRADIENT, HESSIAN = "gradient", "weight_gradient", "hessian"
#: The loss, and the weights after one step of training, by the optimizer that makes it.
OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "training": ("SGD", {"learning_rate": 0.125, "momentum": 0.5, "nesterov": True}),
    # A large epsilon: else the first step is the gradient's sign, which rounding decides at 0.
    "training_adam": ("Adam", {"learning_rate": 0.125, "epsilon": 0.25}),
}
TRAINING = tuple(OPTIMIZERS)
#: All of them; each is asked with inputs of its own.
QUESTIONS = (GRADIENT, WEIGHT_GRADIENT, HESSIAN, *TRAINING)
#: Those that are answered layer by layer.
BY_LAYER = (WEIGHT_GRADIENT, *TRAINING)
#: Those that need no weights: they are asked of an exported model too.
BY_INPUTS = (GRADIENT, HESSIAN)

#: Inputs of a batch of another size than the first one that the same compiled model has seen.
RESIZED = "resized"
#: Inputs whose memory is written over after the run, before the outputs are read.
OVERWRITTEN = "overwritten"
#: Items in that first batch.
FIRST = 2

Array = NDArray[Any]


def cotangent(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Weights of an output's elements in the sum that is differentiated, float64 ``shape``.

    They all differ: of what adds up to a constant, as a softmax does, a plain sum has none.
    """
    return np.cos(np.arange(int(np.prod(shape)), dtype=np.float64)).reshape(shape)


@dataclass(frozen=True)
class KerasFunction:
    """A Keras model as a function of a batch, compiled or not.

    Args:
        call: takes the inputs, one alone or several as a list, and ``training``.
        model: the Keras model, whose weights the function reads; None where it has its own.
        layers: in the graph's order; none without a model.
        differentiable: whether a function without a model has derivatives by its inputs.
    """

    call: Callable[..., Any]
    model: Any = None
    layers: tuple[Any, ...] = ()
    differentiable: bool = field(default=False, kw_only=True)

    @classmethod
    def of(cls, call: Callable[..., Any], model: Any, subject: ModelUnderTest) -> KerasFunction:
        """The function of a model that is built from a graph, or a copy of it."""
        graph = subject.graph()
        names = [layer_name(i, graph.nodes[i]) for i in graph.layers]
        return cls(call, model, tuple(model.get_layer(name) for name in names))

    def __call__(self, inputs: Any, training: bool = False) -> Any:
        """Outputs of the model in inference or in training mode."""
        return self.call(inputs, training=training)

    def require_model(self, question: str) -> None:
        """Reject a question that only a model can answer whose weights are there.

        Raises:
            NotImplementedError: the function has weights of its own.
        """
        if self.model is None and not (self.differentiable and question in BY_INPUTS):
            raise NotImplementedError(f"{question} is not supported of an exported model")

    @property
    def trainable(self) -> list[Any]:
        """The trainable variables, layer by layer."""
        return [v for layer in self.layers for v in layer.trainable_variables]

    def by_layer(self, arrays: Sequence[Array]) -> list[Array]:
        """An array for each trainable variable as a flat one for each layer, perhaps empty."""
        rest = iter(arrays)
        return [
            _flat(layer, [next(rest) for _ in layer.trainable_variables]) for layer in self.layers
        ]

    def weights(self, values: Mapping[int, Array] | None = None) -> list[Array]:
        """All floating weights of each layer in one flat array.

        Args:
            values: in place of the variables' own, by the variables' ids.
        """
        flat = []
        for layer in self.layers:
            own = layer.get_weights() if values is None else [values[id(v)] for v in layer.weights]
            flat.append(_flat(layer, [w for w in own if w.dtype.kind == "f"]))
        return flat

    @contextmanager
    def kept(self) -> Iterator[None]:
        """The model, which other backends share, has its weights back after the block."""
        weights = self.model.get_weights()
        try:
            yield
        finally:
            self.model.set_weights(weights)


def _flat(layer: Any, arrays: Sequence[Array]) -> Array:
    dtype = layer.variable_dtype
    flat = [np.asarray(a).ravel() for a in arrays]
    return np.concatenate(flat) if flat else np.empty(0, dtype)


def optimizer_of(question: str) -> Any:
    """The optimizer of a training step, new."""
    import keras

    kind, options = OPTIMIZERS[question]
    return getattr(keras.optimizers, kind)(**options)


def squared_error(outputs: Any, losses: Sequence[Any], kind: str) -> Any:
    """The loss of a training step: squared errors, and what regularizers add.

    Keras computes it in float64 for a model of float64, and in float32 for all others.

    Args:
        outputs: one or several; the targets are cosines.
        losses: of the layers.
        kind: dtype of the model's outputs.
    """
    import keras

    dtype = "float64" if kind == "float64" else "float32"
    loss = keras.losses.MeanSquaredError(dtype=dtype)
    many = outputs if isinstance(outputs, list | tuple) else [outputs]
    parts = [loss(cotangent(tuple(o.shape)), o) for o in many]
    return sum([*parts, *(keras.ops.cast(part, dtype) for part in losses)])
