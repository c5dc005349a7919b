"""What a network answers: kinds of output, each fitted to drawn inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from onnx import TensorProto

from vetted_truth.fitting import logistic, ridge
from vetted_truth.items import CLASSES, FRAMES, PICTURE, SYMBOLS, Items
from vetted_truth.networks import Array, Net, pooled

FLOAT = TensorProto.FLOAT


@dataclass
class Fitting:
    """What a head is made of.

    Attributes:
        net: the network so far.
        features: the tensor of features, ``(N, F, ...)``.
        axes: of the features.
        items: that it is fitted to.
        feed: these items by the model's inputs.
        power: see :func:`~vetted_truth.networks.pooled`.
        plain: outputs have names that say nothing.
        rng: draws what is random.
    """

    net: Net
    features: str
    axes: int
    items: Items
    feed: dict[str, Array]
    power: float
    plain: bool
    rng: np.random.Generator
    given: int = 0

    def row(self) -> tuple[str, Array]:
        """The tensor of one row for each item, and its values."""
        tensor = pooled(self.net, self.features, self.axes, self.power)
        return tensor, self.net.values(tensor, self.feed).astype(np.float64)

    def finish(self, tensor: str, meant: str) -> str:
        """Make a tensor an output."""
        plain = f"output_{self.given}" if self.given else "output"
        name = plain if self.plain else meant
        self.given += 1
        self.net.named(tensor, name)
        return name


@dataclass(frozen=True)
class Output:
    """An output of the model.

    Attributes:
        name: its name.
        role: what it holds: a name of :data:`~vetted_truth.counting.ROLES`.
        sizes: without the batch.
        type: of its elements.
        batched: its sizes have the batch as well.
        axis: of the batch.
    """

    name: str
    role: str
    sizes: Sequence[Any]
    type: int = FLOAT
    batched: bool = True
    axis: int = 0

    def described(self, batch: str | int) -> tuple[int, list[Any]]:
        """Type and sizes."""
        sizes = list(self.sizes)
        if self.batched:
            sizes.insert(self.axis, batch)
        return self.type, sizes


@dataclass(frozen=True)
class DenseHead:
    """A dense layer on one row of features, fitted to what it should answer.

    Attributes:
        targets: of items, ``(N, K)``.
        fit: gives weights and biases, of features and targets.
        activation: behind the layer; none where it is empty.
        name: of the output, where names say something.
        role: see :class:`Output`.
    """

    targets: Callable[[Items], Array]
    fit: Callable[[Array, Array], tuple[Array, Array]]
    activation: str
    name: str
    role: str


_softmax_fit = partial(logistic, softmax=True)
_sigmoid_fit = partial(logistic, softmax=False)


def _one_hot(items: Items) -> Array:
    return np.eye(CLASSES)[items.labels]


def _four_labels(items: Items) -> Array:
    """Bits of the class, whether it is not the first, and whether there is much of it."""
    labels, amount = items.labels, items.facts["amount"][:, 0]
    columns = [labels % 2, labels // 2, labels > 0, amount > np.median(amount)]
    return np.column_stack(columns).astype(float)


def _first_two(items: Items) -> Array:
    return (items.labels[:, np.newaxis] < 2) * 1.0


def _amount(items: Items) -> Array:
    """How much of it there is, from about 20 to 130."""
    return 100 * items.facts["amount"]


def _three_numbers(items: Items) -> Array:
    """Three numbers, of different spread."""
    amount, labels = items.facts["amount"], items.labels[:, np.newaxis]
    return np.column_stack([amount, 10 * (labels % 2) + amount, 5 * (labels < 2) - amount])


_PROBABILITIES = DenseHead(_one_hot, _softmax_fit, "Softmax", "probabilities", "classes")
_NUMBER = DenseHead(_amount, ridge, "", "amount", "numbers")
#: Dense heads by the kind of output.
DENSE: dict[str, list[DenseHead]] = {
    "softmax": [_PROBABILITIES],
    "logits": [DenseHead(_one_hot, _softmax_fit, "", "logits", "classes")],
    "sigmoids": [DenseHead(_four_labels, _sigmoid_fit, "Sigmoid", "scores", "several")],
    "sigmoid": [DenseHead(_first_two, _sigmoid_fit, "Sigmoid", "probability", "one")],
    "number": [_NUMBER],
    "numbers": [DenseHead(_three_numbers, ridge, "", "coordinates", "numbers")],
    "several outputs": [_PROBABILITIES, _NUMBER],
}


def _dense(heads: list[DenseHead], made: Fitting) -> list[Output]:
    row, values = made.row()
    tensors, sizes = [], []
    for head in heads:
        weight, bias = head.fit(values, head.targets(made.items))
        name = "/regressor/Gemm" if head.fit is ridge else "/classifier/Gemm"
        x = made.net.weighted("Gemm", row, weight, bias, name)
        if head.activation:
            axis = {"axis": -1} if head.activation == "Softmax" else {}
            x = made.net.add(head.activation, [x], f"/{head.activation}", **axis)
        tensors.append(x)
        sizes.append(len(bias))
    names = [made.finish(x, head.name) for x, head in zip(tensors, heads, strict=True)]
    return [Output(n, h.role, [k]) for n, h, k in zip(names, heads, sizes, strict=True)]


def fit_label_map(rows: Array, items: Items, rng: np.random.Generator) -> tuple[Array, Array]:
    """Weights and biases of three classes for each pixel.

    Args:
        rows: features of all pixels, ``(N * H * W, F)``.
        items: with a map each.
        rng: chooses the pixels that are fitted.
    """
    chosen = rng.permutation(len(rows))[:20_000]
    targets = np.eye(3)[items.facts["map"].reshape(-1)[chosen]]
    return logistic(rows[chosen].astype(np.float64), targets, softmax=True, steps=150)


def label_map(made: Fitting) -> list[Output]:
    """Logits of three classes for each pixel, or the classes themselves."""
    values = made.net.values(made.features, made.feed)
    rows = values.transpose(0, 2, 3, 1).reshape(-1, values.shape[1])
    weight, bias = fit_label_map(rows, made.items, made.rng)
    w = weight.T[:, :, np.newaxis, np.newaxis]
    x = made.net.weighted("Conv", made.features, w, bias, "/head/Conv")
    sizes = [PICTURE, PICTURE]
    if made.rng.random() < 0.3:
        x = made.net.add("ArgMax", [x], "/ArgMax", axis=1, keepdims=0)
        return [Output(made.finish(x, "mask"), "map of labels", sizes, TensorProto.INT64)]
    return [Output(made.finish(x, "mask_logits"), "map", [3, *sizes])]


def ctc(made: Fitting) -> list[Output]:
    """Log-probabilities of symbols over frames, the pause being the blank; maybe time first."""
    values = made.net.values(made.features, made.feed).transpose(0, 2, 1)
    frames = made.items.facts["frames"].reshape(-1)
    rows = values.reshape(-1, values.shape[2]).astype(np.float64)
    targets = np.eye(SYMBOLS + 1)[frames]
    weight, bias = logistic(rows, targets, softmax=True)
    x = made.net.weighted("Conv", made.features, weight.T[:, :, None], bias, "/head/Conv")
    first = made.rng.random() < 0.4
    x = made.net.add("Transpose", [x], "/head/Transpose", perm=[2, 0, 1] if first else [0, 2, 1])
    if made.rng.random() < 0.5:
        x = made.net.add("LogSoftmax", [x], "/LogSoftmax", axis=-1)
    name = made.finish(x, "ctc_logits")
    sizes = [FRAMES, SYMBOLS + 1]
    return [
        Output(name, "transcript, time first" if first else "transcript", sizes, axis=int(first))
    ]


def embedding(made: Fitting) -> list[Output]:
    """Directions of sixteen numbers; items of one class are alike."""
    tensor, values = made.row()
    anchors = made.rng.normal(0, 1, (CLASSES, 16))[made.items.labels]
    weight, bias = ridge(values, anchors + made.items.facts["amount"] * 0.3)
    x = made.net.weighted("Gemm", tensor, weight, bias, "/projection/Gemm")
    length = made.net.add("ReduceL2", [x], "/ReduceL2", axes=[1], keepdims=1)
    x = made.net.add("Div", [x, length], "/Div")
    return [Output(made.finish(x, "embedding"), "embedding", [16])]


#: Heads by the kind of output, with the scene that they need.
HEADS: dict[str, tuple[Callable[[Fitting], list[Output]], str]] = {
    **{kind: (partial(_dense, heads), "classes") for kind, heads in DENSE.items()},
    "label map": (label_map, "regions"),
    "ctc": (ctc, "spoken"),
    "embedding": (embedding, "classes"),
}
