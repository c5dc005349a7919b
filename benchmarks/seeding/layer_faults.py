"""Faults of single layers, each as a change of a Keras layer that is built already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from asterism.memo.graphs.graph import Graph, Node, sequential
from asterism.memo.universe.tensors import Tensor
from seeding.layer_changes import (
    Change,
    activation,
    after,
    attribute,
    before,
    elementwise,
    gates,
    operation,
    weights,
)
from seeding.question_faults import QUESTION_FAULTS


@dataclass(frozen=True)
class LayerFault:
    """A fault, and a model that has the layer.

    Args:
        kind: what is wrong, in the words of bug reports.
        layer: type of the layer.
        shape: of one input item.
        config: parameters of the layer.
        change: seeds the fault.
        distribution: inputs that show it.
        dtype: of the input.
    """

    kind: str
    layer: str
    shape: tuple[int, ...]
    config: dict[str, Any]
    change: Change
    distribution: str = "normal"
    dtype: str = "float32"

    def graph(self) -> Graph:
        """The layer behind an ordinary one where its input is floating, and its output as it is."""
        first = [] if self.dtype == "int32" else [node("LeakyReLU", negative_slope=0.4)]
        return sequential(Tensor(self.shape, self.dtype), [*first, node(self.layer, **self.config)])


def node(kind: str, **config: Any) -> Callable[[Any], Node]:
    """A step for :func:`asterism.memo.graphs.graph.sequential`."""
    return lambda _: Node(kind, {**config, "dtype": "float32"}, seed=7)


_NO_BIAS = weights(-1, np.zeros_like)
_LINEAR = activation("linear")
_FIRST_OF_BATCH = after(elementwise(lambda o, x: o.repeat(x[:1], x.shape[0], axis=0)))
_LAST_LOST = after(elementwise(lambda o, x: o.concatenate([x[..., :-1], x[..., -1:] * 0], -1)))
_HALF = after(elementwise(lambda o, x: o.cast(o.cast(x, "float16"), "float32")))
_NO_NAN = before(elementwise(lambda o, x: o.where(o.isnan(x), o.zeros_like(x), x)))
_SHIFT = before(operation("roll", 1, axis=1))


_IMAGE, _SEQUENCE = (8, 7, 4), (6, 4)
_VOLUME = {"filters": 2, "kernel_size": [2, 2, 2]}
_SQUARE = {"filters": 4, "kernel_size": [3, 3], "padding": "same"}
_RELU = {**_SQUARE, "activation": "relu"}
_DENSE = {"units": 6, "activation": "tanh"}

LAYER_FAULTS: dict[str, LayerFault] = {
    f"{kind.replace(' ', '_')}_of_{layer}": LayerFault(kind, layer, shape, config, change, *more)
    for kind, layer, shape, config, change, *more in (
        # dense
        ("dropped bias", "Dense", (6,), _DENSE, _NO_BIAS),
        ("transposed weights", "Dense", (6,), _DENSE, weights(0, np.transpose)),
        ("lost activation", "Dense", (6,), _DENSE, _LINEAR),
        ("other activation", "Dense", (6,), {**_DENSE, "activation": "gelu"}, activation("relu")),
        ("stale batch", "Dense", (6,), _DENSE, _FIRST_OF_BATCH),
        ("unwritten tail", "Dense", (6,), _DENSE, _LAST_LOST),
        ("low precision", "Dense", (6,), _DENSE, _HALF),
        ("bias added twice", "Dense", (6,), _DENSE, weights(-1, lambda b: 2 * b)),
        ("bias on wrong axis", "Dense", (2, 2), {"units": 2}, weights(-1, lambda b: b[::-1])),
        ("wrong result dtype", "Dense", (6,), _DENSE, after(operation("cast", "float64"))),
        ("wrong NaN handling", "Dense", (6,), _DENSE, _NO_NAN, "nan"),
        ("lost axis", "Dense", (6,), {"units": 1}, after(operation("squeeze", -1))),
        (
            "index off by one",
            "Embedding",
            (5,),
            {"input_dim": 12, "output_dim": 3},
            weights(0, lambda w: np.roll(w, 1, 0)),
            "normal",
            "int32",
        ),
        # convolution
        ("dropped bias", "Conv2D", _IMAGE, _RELU, _NO_BIAS),
        ("lost activation", "Conv2D", _IMAGE, _RELU, _LINEAR),
        ("padding off by one", "Conv2D", _IMAGE, _RELU, _SHIFT),
        ("transposed weights", "Conv2D", _IMAGE, _RELU, weights(0, lambda k: k.swapaxes(2, 3))),
        ("flipped kernel", "Conv2D", _IMAGE, _RELU, weights(0, lambda k: k[::-1, ::-1])),
        ("swapped axes of kernel", "Conv2D", _IMAGE, _RELU, weights(0, lambda k: k.swapaxes(0, 1))),
        (
            "lost dilation",
            "Conv2D",
            _IMAGE,
            {**_SQUARE, "dilation_rate": [2, 2]},
            attribute(dilation_rate=(1, 1)),
        ),
        (
            "wrong stride offset",
            "Conv2D",
            _IMAGE,
            {**_SQUARE, "strides": [2, 2]},
            before(operation("roll", -1, axis=2)),
        ),
        ("low precision", "Conv2D", _IMAGE, _RELU, _HALF),
        ("stale batch", "Conv2D", _IMAGE, _RELU, _FIRST_OF_BATCH),
        ("wrong NaN handling", "Conv2D", _IMAGE, _RELU, _NO_NAN, "nan"),
        (
            "wrong group",
            "Conv2D",
            _IMAGE,
            {**_SQUARE, "groups": 2},
            before(operation("flip", axis=-1)),
        ),
        (
            "causal padding lost",
            "Conv1D",
            _SEQUENCE,
            {"filters": 3, "kernel_size": [3], "padding": "causal"},
            attribute(padding="same"),
        ),
        ("dropped bias", "Conv1D", _SEQUENCE, {"filters": 3, "kernel_size": [2]}, _NO_BIAS),
        (
            "dropped bias",
            "Conv3D",
            (4, 3, 4, 2),
            _VOLUME,
            _NO_BIAS,
        ),
        (
            "swapped axes of kernel",
            "Conv3D",
            (4, 3, 4, 2),
            _VOLUME,
            weights(0, lambda k: k.swapaxes(0, 2)),
        ),
        (
            "channel order",
            "DepthwiseConv2D",
            _IMAGE,
            {"kernel_size": [2, 2]},
            weights(0, lambda k: k[:, :, ::-1]),
        ),
        ("dropped bias", "DepthwiseConv2D", _IMAGE, {"kernel_size": [2, 2]}, _NO_BIAS),
        (
            "channel order",
            "SeparableConv1D",
            _SEQUENCE,
            {"filters": 3, "kernel_size": [2]},
            weights(1, lambda k: k[:, ::-1]),
        ),
        ("padding off by one", "SeparableConv2D", _IMAGE, _SQUARE, _SHIFT),
        (
            "padding off by one",
            "Conv2DTranspose",
            _IMAGE,
            {**_SQUARE, "strides": [2, 2]},
            after(operation("roll", 1, axis=1)),
        ),
        (
            "transposed weights",
            "Conv2DTranspose",
            _IMAGE,
            _SQUARE,
            weights(0, lambda k: k.swapaxes(2, 3)),
        ),
        (
            "flipped kernel",
            "Conv1DTranspose",
            _SEQUENCE,
            {"filters": 3, "kernel_size": [3]},
            weights(0, lambda k: k[::-1]),
        ),
        # normalisation
        ("wrong epsilon", "BatchNormalization", (6,), {"epsilon": 0.001}, attribute(epsilon=1e-5)),
        (
            "swapped operands",
            "BatchNormalization",
            (6,),
            {},
            lambda layer: layer.set_weights([layer.get_weights()[i] for i in (1, 0, 2, 3)]),
        ),
        ("batch statistics", "BatchNormalization", (6,), {}, weights(2, lambda m: 0 * m)),
        ("lost scale", "BatchNormalization", (6,), {}, weights(0, np.ones_like)),
        ("wrong epsilon", "LayerNormalization", (6,), {"epsilon": 0.001}, attribute(epsilon=1e-12)),
        ("wrong axis", "LayerNormalization", (6, 6), {}, before(operation("swapaxes", 1, 2))),
        ("lost scale", "LayerNormalization", (6,), {}, weights(0, np.ones_like)),
        ("lost scale", "RMSNormalization", (6,), {}, weights(0, np.ones_like)),
        (
            "mean taken away",
            "RMSNormalization",
            (6,),
            {},
            before(elementwise(lambda o, x: x - o.mean(x, -1, keepdims=True))),
        ),
        ("wrong groups", "GroupNormalization", (5, 8), {"groups": 4}, attribute(groups=2)),
        ("wrong epsilon", "GroupNormalization", (5, 8), {"groups": 4}, attribute(epsilon=1e-7)),
        ("wrong axis", "UnitNormalization", (6, 6), {}, attribute(axis=[1])),
        # pooling
        ("padding off by one", "MaxPooling2D", _IMAGE, {"pool_size": [2, 2]}, _SHIFT),
        ("sum for mean", "AveragePooling2D", _IMAGE, {"pool_size": [2, 2]}, after(lambda x: x * 4)),
        (
            "padding is counted",
            "AveragePooling1D",
            (7, 4),
            {"pool_size": [2], "padding": "same"},
            after(elementwise(lambda o, x: o.concatenate([x[:, :-1], x[:, -1:] / 2], 1))),
        ),
        (
            "max for mean",
            "AveragePooling2D",
            _IMAGE,
            {"pool_size": [2, 2], "strides": [2, 2]},
            after(operation("maximum", 0.0)),
        ),
        ("wrong axis", "GlobalAveragePooling1D", (4, 4), {}, before(operation("swapaxes", 1, 2))),
        ("element left out", "GlobalAveragePooling2D", _IMAGE, {}, before(lambda x: x[:, :-1])),
        ("element left out", "GlobalMaxPooling1D", _SEQUENCE, {}, before(lambda x: x[:, :-1])),
        ("wrong NaN handling", "MaxPooling1D", _SEQUENCE, {"pool_size": [2]}, _NO_NAN, "nan"),
        ("wrong NaN handling", "GlobalMaxPooling2D", _IMAGE, {}, _NO_NAN, "nan"),
        # recurrent
        ("gate order", "LSTM", _SEQUENCE, {"units": 3}, weights(0, gates((0, 2, 1, 3)))),
        ("gate order", "GRU", _SEQUENCE, {"units": 3}, weights(0, gates((1, 0, 2)))),
        (
            "gate order of the recurrence",
            "LSTM",
            _SEQUENCE,
            {"units": 3},
            weights(1, gates((1, 0, 2, 3))),
        ),
        ("dropped bias", "LSTM", _SEQUENCE, {"units": 3}, _NO_BIAS),
        ("dropped bias", "GRU", _SEQUENCE, {"units": 3}, _NO_BIAS),
        ("lost activation", "LSTM", _SEQUENCE, {"units": 3}, _LINEAR),
        ("lost activation", "SimpleRNN", _SEQUENCE, {"units": 3}, _LINEAR),
        ("transposed weights", "SimpleRNN", _SEQUENCE, {"units": 3}, weights(1, np.transpose)),
        ("wrong direction", "GRU", _SEQUENCE, {"units": 3}, before(operation("flip", axis=1))),
        (
            "wrong direction",
            "SimpleRNN",
            _SEQUENCE,
            {"units": 3, "return_sequences": True},
            before(operation("flip", axis=1)),
        ),
        ("step left out", "LSTM", _SEQUENCE, {"units": 3}, before(lambda x: x[:, :-1])),
        (
            "reset before",
            "GRU",
            _SEQUENCE,
            {"units": 3},
            lambda layer: setattr(layer.cell, "recurrent_activation", layer.cell.activation),
        ),
        (
            "swapped directions",
            "Bidirectional",
            _SEQUENCE,
            {"layer": "SimpleRNN", "units": 3},
            before(operation("flip", axis=1)),
        ),
        # activation
        ("wrong slope", "LeakyReLU", (6,), {"negative_slope": 0.3}, attribute(negative_slope=0.01)),
        ("lost ceiling", "ReLU", (6,), {"max_value": 0.5}, attribute(max_value=None)),
        ("wrong NaN handling", "ReLU", (6,), {}, _NO_NAN, "nan"),
        ("wrong axis", "Softmax", (5, 5), {}, before(operation("swapaxes", 1, 2))),
        ("logarithm", "Softmax", (6,), {}, after(operation("log"))),
        ("approximated", "Activation", (6,), {"activation": "sigmoid"}, activation("hard_sigmoid")),
        (
            "approximated by tanh",
            "Activation",
            (6,),
            {"activation": "gelu"},
            after(elementwise(lambda o, x: x + 1e-3 * o.abs(x))),
        ),
        ("lost alpha", "ELU", (6,), {"alpha": 0.4}, attribute(alpha=1.0)),
        ("wrong broadcasting", "PReLU", (4, 4), {}, weights(0, np.transpose)),
        # reshaping
        (
            "inverse permutation",
            "Permute",
            (3, 3, 3),
            {"dims": [2, 3, 1]},
            after(operation("transpose", (0, 3, 1, 2))),
        ),
        (
            "order of Fortran",
            "Reshape",
            (4, 6),
            {"target_shape": [6, 4]},
            after(elementwise(lambda o, x: o.transpose(o.reshape(x, (-1, 4, 6)), (0, 2, 1)))),
        ),
        ("channels first", "Flatten", (3, 4), {}, before(operation("transpose", (0, 2, 1)))),
        ("off by one", "Cropping1D", _SEQUENCE, {"cropping": [1, 1]}, _SHIFT),
        (
            "off by one",
            "ZeroPadding1D",
            _SEQUENCE,
            {"padding": [1, 1]},
            after(operation("roll", 1, axis=1)),
        ),
        (
            "tile for repeat",
            "UpSampling1D",
            (4, 3),
            {"size": 2},
            after(elementwise(lambda o, x: o.concatenate([x[:, ::2], x[:, ::2]], 1))),
        ),
        ("lost factor", "Rescaling", (6,), {"scale": 1.003, "offset": 0.1}, attribute(scale=1.0)),
        (
            "wrong padding value",
            "ZeroPadding2D",
            _IMAGE,
            {"padding": [[1, 1], [1, 1]]},
            after(operation("add", 1e-3)),
        ),
    )
}
LAYER_FAULTS |= {
    f"{kind.replace(' ', '_')}_of_{layer}_by_{question}": LayerFault(
        kind, layer, shape, config, change, question
    )
    for kind, layer, shape, config, change, question in QUESTION_FAULTS
}
