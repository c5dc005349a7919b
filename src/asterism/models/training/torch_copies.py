"""Classifiers of Keras as modules of PyTorch with the same weights, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as f

from asterism.core.messages.errors import UserError

if TYPE_CHECKING:
    import keras

Arrays = list[NDArray[np.float32]]

#: How far probabilities of a copy may be from the Keras model's.
_ROUNDING = 1e-4
#: Axes of kernels of PyTorch in those of Keras, and back.
_TO_TORCH = {nn.Conv2d: (3, 2, 0, 1), nn.Linear: (1, 0)}
_TO_KERAS = {nn.Conv2d: (2, 3, 1, 0), nn.Linear: (1, 0)}
_RECURRENT = {"LSTM": nn.LSTM, "GRU": nn.GRU, "SimpleRNN": nn.RNN}
#: Keras has a GRU's update gate first, and PyTorch its reset gate.
_GATES_OF_GRU = (1, 0, 2)

Function = Callable[[torch.Tensor], torch.Tensor]


def _same(values: torch.Tensor) -> torch.Tensor:
    return values


def _softmax(values: torch.Tensor) -> torch.Tensor:
    return values.softmax(-1)


#: By their names in Keras.
_ACTIVATIONS: dict[str, Function] = {
    "linear": _same,
    "relu": f.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "softmax": _softmax,
}


@dataclass(frozen=True)
class _Step:
    """One layer: a part with weights or none, what is done before it and after it.

    Attributes:
        name: of the part.
        sources: numbers of the tensors that it takes.
        result: number of the tensor that it gives.
        before: padding on the left, right, top and bottom.
        after: the activation.
    """

    name: str
    sources: Sequence[int]
    result: int
    before: tuple[int, int, int, int]
    after: Function


class TorchCopy(nn.Module):
    """A Keras classifier that ends in a softmax, as a module of PyTorch.

    Each layer is a part with the layer's name. Pictures are taken as PyTorch has them, ``(N, C, H,
    W)``, and everything else as Keras has it.

    Args:
        model: without models inside.

    Raises:
        UserError: it has a layer that is not copied, or the copy answers otherwise.
    """

    def __init__(self, model: keras.Model) -> None:
        super().__init__()
        layers = [layer for layer in model.layers if type(layer).__name__ != "InputLayer"]
        self._first, self._steps = id(model.inputs[0]), [*map(self._step, layers)]
        if self._steps[-1].after is not _softmax:
            raise UserError(f"{model.name} ends in no softmax, which its copy needs")
        self.eval()
        self._require_same(model)

    def logits(self, given: torch.Tensor) -> torch.Tensor:
        """What the softmax at the end takes, ``(N, K)``."""
        values = {self._first: given}
        for step in self._steps:
            taken = [values[source] for source in step.sources]
            if any(step.before):
                taken = [f.pad(one, step.before) for one in taken]
            found = self.get_submodule(step.name)(*taken)
            if step is self._steps[-1]:
                return found  # type: ignore[no-any-return]
            values[step.result] = step.after(found)
        raise AssertionError("a model has layers")

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """Probabilities ``(N, K)``."""
        return _softmax(self.logits(given))

    def give_weights(self, model: keras.Model) -> None:
        """Set the weights of the model that this is a copy of to those of the copy."""
        for layer in model.layers:
            if layer.weights:
                layer.set_weights(_weights_of(self.get_submodule(_named(layer))))

    def _step(self, layer: keras.layers.Layer) -> _Step:
        kind, name = type(layer).__name__, _named(layer)
        if kind not in _PARTS:
            raise UserError(f"the layer {layer.name} is a {kind}, which is not copied to PyTorch")
        part, after = _PARTS[kind](layer)
        self.add_module(name, part)
        with torch.no_grad():
            _set_weights(part, layer.get_weights())
        given = layer.input if isinstance(layer.input, list) else [layer.input]
        before = _padding(layer) if getattr(layer, "padding", "") == "same" else (0, 0, 0, 0)
        return _Step(name, [id(one) for one in given], id(layer.output), before, after)

    @torch.no_grad()
    def _require_same(self, model: keras.Model) -> None:
        trials = np.random.default_rng(0).random((4, *model.input_shape[1:]), dtype=np.float32)
        wanted = np.asarray(model(trials))
        try:
            found = self(as_torch_takes(trials)).numpy()
        except RuntimeError as error:
            raise UserError(f"PyTorch's copy of {model.name} fails: {error}") from None
        if not np.allclose(found, wanted, atol=_ROUNDING):
            raise UserError(f"PyTorch's copy of {model.name} answers differently from Keras")


def as_torch_takes(inputs: NDArray[np.float32]) -> torch.Tensor:
    """Pictures ``(N, H, W, C)`` with their channels first; everything else as it is."""
    pictures = inputs.ndim == 4
    return torch.from_numpy(
        np.ascontiguousarray(np.moveaxis(inputs, -1, 1) if pictures else inputs)
    )


def _named(layer: keras.layers.Layer) -> str:
    return str(layer.name).replace(".", "_")


def _padding(layer: keras.layers.Layer) -> tuple[int, int, int, int]:
    """Zeros on the left, right, top and bottom, of which Keras puts more behind than before."""
    sizes = layer.input.shape[1:3]
    around = []
    for size, kernel, stride in zip(sizes, layer.kernel_size, layer.strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        around.append((total // 2, total - total // 2))
    return (*around[1], *around[0])


class _Flatten(nn.Module):
    """In Keras' order: the channels of a place follow each other."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        ordered = values.permute(0, 2, 3, 1) if values.ndim == 4 else values
        return ordered.flatten(1)


class _Mean(nn.Module):
    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values.mean((2, 3))


class _Sum(nn.Module):
    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        return torch.stack(values).sum(0)


class _Recurrent(nn.Module):
    """A recurrent layer that gives its states at all steps, or at the last."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        kind, width = type(layer).__name__, layer.input.shape[-1]
        self.cell = _RECURRENT[kind](width, layer.units, batch_first=True)
        self._all = layer.return_sequences

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.cell(values)[0]
        return found if self._all else found[:, -1]


def _convolution(layer: Any) -> tuple[nn.Module, Function]:
    taken = layer.input.shape[-1]
    part = nn.Conv2d(
        taken, layer.filters, layer.kernel_size, layer.strides, bias=layer.use_bias,
        groups=layer.groups, dilation=layer.dilation_rate,
    )  # fmt: skip
    return part, _activation(layer)


def _dense(layer: Any) -> tuple[nn.Module, Function]:
    part = nn.Linear(layer.input.shape[-1], layer.units, bias=layer.use_bias)
    return part, _activation(layer)


def _normalisation(layer: Any) -> tuple[nn.Module, Function]:
    channels, share = layer.input.shape[-1], 1 - layer.momentum
    return nn.BatchNorm2d(channels, eps=layer.epsilon, momentum=share), _same


def _activation(layer: Any) -> Function:
    name = getattr(layer.activation, "__name__", "")
    if name not in _ACTIVATIONS:
        raise UserError(f"the layer {layer.name} has an activation that is not copied to PyTorch")
    return _ACTIVATIONS[name]


#: The part of PyTorch and the activation of a layer, by the class of the layer.
_PARTS: dict[str, Callable[[Any], tuple[nn.Module, Function]]] = {
    "Conv2D": _convolution,
    "Dense": _dense,
    "BatchNormalization": _normalisation,
    "MaxPooling2D": lambda layer: (nn.MaxPool2d(layer.pool_size, layer.strides), _same),
    "AveragePooling2D": lambda layer: (nn.AvgPool2d(layer.pool_size, layer.strides), _same),
    "GlobalAveragePooling2D": lambda _: (_Mean(), _same),
    "Flatten": lambda _: (_Flatten(), _same),
    "Add": lambda _: (_Sum(), _same),
    "Dropout": lambda layer: (nn.Dropout(layer.rate), _same),
    "ReLU": lambda _: (nn.Identity(), f.relu),
    "Softmax": lambda _: (nn.Identity(), _softmax),
    "Activation": lambda layer: (nn.Identity(), _activation(layer)),
    **dict.fromkeys(_RECURRENT, lambda layer: (_Recurrent(layer), _same)),
}


def _set_weights(part: nn.Module, arrays: Arrays) -> None:
    """Give a part the weights of a Keras layer, in the order in which Keras has them."""
    if isinstance(part, _Recurrent):
        kernel, recurrent, bias = (_gates(part, array) for array in arrays)
        both = bias if bias.ndim == 2 else np.stack([bias, np.zeros_like(bias)])
        arrays = [kernel.T, recurrent.T, *both]
    elif type(part) in _TO_TORCH and arrays:
        arrays = [arrays[0].transpose(_TO_TORCH[type(part)]), *arrays[1:]]
    for tensor, array in zip(_tensors(part), arrays, strict=True):
        tensor.copy_(torch.from_numpy(np.ascontiguousarray(array)))


def _weights_of(part: nn.Module) -> Arrays:
    """The weights of a part as Keras has them; see :func:`_set_weights`."""
    arrays = [tensor.detach().numpy().copy() for tensor in _tensors(part)]
    if isinstance(part, _Recurrent):
        kernel, recurrent, taken, kept = arrays
        gru = isinstance(part.cell, nn.GRU)
        bias = np.stack([taken, kept]) if gru else taken + kept
        return [_gates(part, array) for array in (kernel.T, recurrent.T, bias)]
    if type(part) in _TO_KERAS:
        return [arrays[0].transpose(_TO_KERAS[type(part)]), *arrays[1:]]
    return arrays


def _gates(part: _Recurrent, array: NDArray[np.float32]) -> NDArray[np.float32]:
    """The gates, which lie beside each other on the last axis, in the other library's order."""
    if not isinstance(part.cell, nn.GRU):
        return array
    gates = np.split(array, len(_GATES_OF_GRU), axis=-1)
    return np.concatenate([gates[place] for place in _GATES_OF_GRU], axis=-1)


def _tensors(part: nn.Module) -> list[torch.Tensor]:
    """Weights, and the means and variances of a normalisation."""
    moments = [part.running_mean, part.running_var] if isinstance(part, nn.BatchNorm2d) else []
    return [*part.parameters(), *(one for one in moments if one is not None)]
