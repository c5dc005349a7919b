"""Writing a chain of Keras layers as an ONNX graph.

Keras' own export gives a graph of elementary operations, in which hidden states are hard to find
and slow to compute. ONNX has LSTM, GRU and RNN as operators, which ONNX Runtime runs fast and which
give the state of every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

from asterism.models.onnx_graphs import GraphBuilder
from asterism.models.recurrent.keras_engine import RECURRENT, layer_kind
from asterism.models.recurrent.model import SequenceForm
from asterism.models.recurrent.onnx_engine import OnnxEngine

#: The activations that ONNX's recurrent operators know: their names and parameters α and β there.
_ACTIVATIONS: dict[str, tuple[str, list[float], list[float]]] = {
    "tanh": ("Tanh", [], []),
    "sigmoid": ("Sigmoid", [], []),
    "relu": ("Relu", [], []),
    "hard_sigmoid": ("HardSigmoid", [1 / 6], [0.5]),
    "keras_2_hard_sigmoid": ("HardSigmoid", [0.2], [0.5]),
    "linear": ("Affine", [1.0], [0.0]),
    "elu": ("Elu", [1.0], []),
    "softsign": ("Softsign", [], []),
    "softplus": ("Softplus", [], []),
}

#: Elementwise activations of other layers.
_ELEMENTWISE = {
    name: _ACTIVATIONS[name][0]
    for name in ("tanh", "sigmoid", "relu", "elu", "softsign", "softplus")
}

_OPERATORS = {"LSTM": "LSTM", "GRU": "GRU", "SimpleRNN": "RNN"}

#: All that graphs of this module are made of: nothing that loops or branches.
OPERATIONS = frozenset(
    {*_ELEMENTWISE.values(), *_OPERATORS.values(), "Add", "Concat", "Flatten", "Gather"}
    | {"Identity", "LayerNormalization", "MatMul", "Mul", "Softmax", "Transpose"}
)

#: Where ONNX's gates stand among Keras' gates.
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (0, 1, 2), "SimpleRNN": (0,)}

#: Layers that do nothing at inference.
_TRAINING_ONLY = (
    "Dropout", "SpatialDropout1D", "GaussianDropout", "GaussianNoise", "AlphaDropout",
    "ActivityRegularization",
)  # fmt: skip


class NotExpressible(Exception):  # noqa: N818 - a finding, not an error
    """The chain holds something that this module does not write."""


def write_graph(layers: list[Any] | None, profiled: Any) -> OnnxEngine:
    """A chain of layers as an ONNX model, with the outputs ``(B, K)`` and ``(B, T, H)``.

    It takes vectors ``(B, T, F)``, or where the first layer is an embedding ids ``(B, T)``.

    Args:
        layers: built Keras layers in order, None where the model is no chain.
        profiled: the layer among them whose states become the second output.

    Raises:
        NotExpressible: the message says what stands in the way.
    """
    if layers is None:
        raise NotExpressible("the model is no plain chain of layers")
    shape = tuple(layers[0].input.shape)
    takes_ids = layer_kind(layers[0]) == "Embedding" and len(shape) == 2
    if len(shape) != 3 and not takes_ids:
        raise NotExpressible(f"the input has the shape {shape}")
    numbers = TensorProto.INT32 if takes_ids else TensorProto.FLOAT
    writer = _Writer(profiled)
    tensor = "sequences"
    for layer in layers:
        tensor = writer.write(layer, tensor)
    if writer.states is None:
        raise NotExpressible(f"the layer {profiled.name} is not in the chain")
    writer.graph.add("Identity", tensor, named="outputs")
    writer.graph.add("Identity", writer.states, named="states")
    model = writer.graph.model(
        [helper.make_tensor_value_info("sequences", numbers, [None, *shape[1:]])],
        [
            helper.make_tensor_value_info("outputs", TensorProto.FLOAT, [None] * 2),
            helper.make_tensor_value_info("states", TensorProto.FLOAT, [None] * 3),
        ],
        {"": 17},
        ir_version=9,
    )
    form = SequenceForm(
        layer=profiled.name,
        steps=shape[1],
        features=None if takes_ids else shape[2],
        batch=None,
        numbers="int32" if takes_ids else None,
    )
    return OnnxEngine(model.SerializeToString(), form)


class _Writer:
    """Adds layers to a graph; every method returns the name of its result."""

    def __init__(self, profiled: Any) -> None:
        self.graph = GraphBuilder("rnn")
        self.states: str | None = None
        self._profiled = profiled

    def write(self, layer: Any, tensor: str) -> str:
        """One layer applied to a tensor."""
        name = layer_kind(layer)
        if layer.compute_dtype != "float32":
            raise NotExpressible(f"the layer {layer.name} computes in {layer.compute_dtype}")
        if name in RECURRENT:
            result = self._one_direction(layer, tensor)
        elif name == "Bidirectional":
            result = self._both_directions(layer, tensor)
        elif name in _TRAINING_ONLY:
            result = tensor
        elif name in _LAYERS:
            result = _LAYERS[name](self, layer, tensor)
        else:
            raise NotExpressible(f"there is no rule for the layer {layer.name} ({name})")
        if layer is self._profiled and self.states is None:
            self.states = result
        return result

    def activation(self, function: Any, tensor: str) -> str:
        """A Keras activation function applied to a tensor."""
        name = function if isinstance(function, str) else getattr(function, "__name__", "?")
        if name == "linear":
            return tensor
        if name == "softmax":
            return self.graph.add("Softmax", tensor, axis=-1)
        if name not in _ELEMENTWISE:
            raise NotExpressible(f"there is no rule for the activation {name}")
        return self.graph.add(_ELEMENTWISE[name], tensor)

    def _one_direction(self, layer: Any, tensor: str) -> str:
        if layer.go_backwards:
            raise NotExpressible(f"the layer {layer.name} goes backwards")
        every_step = self._recurrent(layer, [layer], tensor, "forward")
        states = self._batch_first(every_step, [0])
        if layer is self._profiled:
            self.states = states
        return states if layer.return_sequences else self._step(states, -1)

    def _both_directions(self, layer: Any, tensor: str) -> str:
        forward, backward = layer.forward_layer, layer.backward_layer
        if layer_kind(forward) not in RECURRENT or layer_kind(backward) != layer_kind(forward):
            raise NotExpressible(
                f"the layer {layer.name} runs {layer_kind(forward)} in both directions"
            )
        if forward.go_backwards or not backward.go_backwards:
            raise NotExpressible(f"the directions of {layer.name} are exchanged")
        if _settings(forward) != _settings(backward):
            raise NotExpressible(f"the two directions of {layer.name} differ")
        every_step = self._recurrent(layer, [forward, backward], tensor, "bidirectional")
        if layer is self._profiled:
            self.states = self._batch_first(every_step, [0, 1])
        one, other = (self._batch_first(every_step, [d]) for d in (0, 1))
        if not forward.return_sequences:
            one, other = self._step(one, -1), self._step(other, 0)
        match layer.merge_mode:
            case "concat":
                return self.graph.add("Concat", one, other, axis=-1)
            case "sum":
                return self.graph.add("Add", one, other)
            case "mul":
                return self.graph.add("Mul", one, other)
            case "ave":
                half = self.graph.constant(np.array(0.5, np.float32))
                return self.graph.add("Mul", self.graph.add("Add", one, other), half)
        raise NotExpressible(f"{layer.name} merges its directions by {layer.merge_mode}")

    def _recurrent(self, layer: Any, directions: list[Any], tensor: str, direction: str) -> str:
        """The recurrent operator itself: states ``(T, directions, B, H)``."""
        first = directions[0]
        if first.stateful or getattr(layer, "stateful", False):
            raise NotExpressible(f"the layer {layer.name} keeps its state between batches")
        if getattr(first, "return_state", False):
            raise NotExpressible(f"the layer {layer.name} returns its last state too")
        weights = [_weights(one) for one in directions]
        inputs = [self.graph.add("Transpose", tensor, perm=[1, 0, 2])]
        inputs += [self.graph.constant(np.stack(part)) for part in zip(*weights, strict=True)]
        names, alphas, betas = zip(*_activations(first), strict=True)
        attributes: dict[str, Any] = {
            "hidden_size": first.units,
            "direction": direction,
            "activations": list(names) * len(directions),
        }
        for parameter, values in (("alpha", alphas), ("beta", betas)):
            if flat := [value for one in values for value in one]:
                attributes[f"activation_{parameter}"] = flat * len(directions)
        if layer_kind(first) == "GRU":
            attributes["linear_before_reset"] = int(first.reset_after)
        return self.graph.add(_OPERATORS[layer_kind(first)], *inputs, **attributes)

    def _batch_first(self, every_step: str, directions: list[int]) -> str:
        """``(T, directions, B, H)`` as ``(B, T, H)``, with the chosen directions side by side."""
        parts = [
            self.graph.add(
                "Transpose",
                self.graph.add("Gather", every_step, self.graph.constant(np.array(d)), axis=1),
                perm=[1, 0, 2],
            )
            for d in directions
        ]
        return parts[0] if len(parts) == 1 else self.graph.add("Concat", *parts, axis=-1)

    def _step(self, states: str, step: int) -> str:
        return self.graph.add("Gather", states, self.graph.constant(np.array(step)), axis=1)


def _settings(layer: Any) -> list[Any]:
    return [_activations(layer), layer.units, getattr(layer, "reset_after", None)]


def _activations(layer: Any) -> list[tuple[str, list[float], list[float]]]:
    activation, recurrent = layer.activation, getattr(layer, "recurrent_activation", None)
    wanted = {
        "LSTM": [recurrent, activation, activation],
        "GRU": [recurrent, activation],
        "SimpleRNN": [activation],
    }[layer_kind(layer)]
    names = [getattr(function, "__name__", "?") for function in wanted]
    for name in names:
        if name not in _ACTIVATIONS:
            raise NotExpressible(f"ONNX's {layer_kind(layer)} has no activation {name}")
    return [_ACTIVATIONS[name] for name in names]


def _weights(layer: Any) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Weights of one direction in ONNX's layout.

    Returns:
        Those of the input ``(G·H, F)``, of the state ``(G·H, H)``, and the biases of both, one
        after the other, ``(2·G·H,)``, for G gates and H units.
    """
    kernel, recurrent = (np.asarray(v, np.float32) for v in layer.get_weights()[:2])
    gates = _GATES[layer_kind(layer)]
    rows = len(gates) * layer.units
    biases = np.zeros((2, rows), np.float32)
    if layer.use_bias:
        bias = np.asarray(layer.get_weights()[2], np.float32).reshape(-1, rows)
        biases[: len(bias)] = bias  # a GRU that resets afterwards has one for each product

    def reorder(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.concatenate([np.split(matrix.T, len(gates))[g] for g in gates])

    both = np.concatenate([reorder(bias[None])[:, 0] for bias in biases])
    return reorder(kernel), reorder(recurrent), both


def _dense(writer: _Writer, layer: Any, tensor: str) -> str:
    weights = [np.asarray(v, np.float32) for v in layer.get_weights()]
    result = writer.graph.add("MatMul", tensor, writer.graph.constant(weights[0]))
    if layer.use_bias:
        result = writer.graph.add("Add", result, writer.graph.constant(weights[1]))
    return writer.activation(layer.activation, result)


def _embedding(writer: _Writer, layer: Any, tensor: str) -> str:
    if layer.mask_zero:
        raise NotExpressible(f"{layer.name} masks steps")
    table = np.asarray(layer.get_weights()[0], np.float32)
    return writer.graph.add("Gather", writer.graph.constant(table), tensor, axis=0)


def _time_distributed(writer: _Writer, layer: Any, tensor: str) -> str:
    if layer_kind(layer.layer) not in ("Dense", "Activation"):
        raise NotExpressible(f"{layer.name} distributes {layer_kind(layer.layer)} over time")
    return _LAYERS[layer_kind(layer.layer)](writer, layer.layer, tensor)


def _layer_normalization(writer: _Writer, layer: Any, tensor: str) -> str:
    if list(layer.axis) not in ([-1], [len(layer.input.shape) - 1]):
        raise NotExpressible(f"{layer.name} normalises over the axes {list(layer.axis)}")
    size = layer.input.shape[-1]
    gamma = np.ones(size) if layer.gamma is None else np.asarray(layer.gamma)
    beta = np.zeros(size) if layer.beta is None else np.asarray(layer.beta)
    constants = [writer.graph.constant(v.astype(np.float32)) for v in (gamma, beta)]
    return writer.graph.add(
        "LayerNormalization", tensor, *constants, axis=-1, epsilon=layer.epsilon
    )


_LAYERS: dict[str, Callable[[_Writer, Any, str], str]] = {
    "Dense": _dense,
    "Embedding": _embedding,
    "TimeDistributed": _time_distributed,
    "Activation": lambda writer, layer, tensor: writer.activation(layer.activation, tensor),
    "Softmax": lambda writer, layer, tensor: writer.graph.add("Softmax", tensor, axis=layer.axis),
    "LayerNormalization": _layer_normalization,
    "Flatten": lambda writer, _, tensor: writer.graph.add("Flatten", tensor, axis=1),
}
