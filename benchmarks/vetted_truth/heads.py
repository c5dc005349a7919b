"""What a network answers: kinds of output, each fitted to drawn inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

    def name(self, meant: str) -> str:
        """The name of the next output."""
        self.given += 1
        first = "output" if self.given == 1 else f"output_{self.given - 1}"
        return first if self.plain else meant

    def row(self) -> tuple[str, Array]:
        """The tensor of one row for each item, and its values."""
        tensor = pooled(self.net, self.features, self.axes, self.power)
        return tensor, self.net.values(tensor, self.feed).astype(np.float64)

    def finish(self, tensor: str, meant: str) -> str:
        """Make a tensor an output."""
        name = self.name(meant)
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
        options: of the role.
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


def softmax(made: Fitting) -> list[Output]:
    """Probabilities of classes."""
    scores = _classes(made, "/classifier/Gemm")
    x = made.net.add("Softmax", [scores], "/Softmax", axis=-1)
    return [Output(made.finish(x, "probabilities"), "classes", [CLASSES])]


def logits(made: Fitting) -> list[Output]:
    """Scores of classes, before a softmax."""
    x = _classes(made, "/classifier/Gemm")
    return [Output(made.finish(x, "logits"), "classes", [CLASSES])]


def _classes(made: Fitting, name: str) -> str:
    tensor, values = made.row()
    weight, bias = logistic(values, np.eye(CLASSES)[made.items.labels], softmax=True)
    return made.net.weighted("Gemm", tensor, weight, bias, name)


def sigmoids(made: Fitting) -> list[Output]:
    """Several labels, each there or not: bits of the class, and whether there is much of it."""
    tensor, values = made.row()
    labels, amount = made.items.labels, made.items.facts["amount"][:, 0]
    targets = np.column_stack([labels % 2, labels // 2, labels > 0, amount > np.median(amount)])
    weight, bias = logistic(values, targets.astype(float), softmax=False)
    x = made.net.weighted("Gemm", tensor, weight, bias, "/classifier/Gemm")
    x = made.net.add("Sigmoid", [x], "/Sigmoid")
    return [Output(made.finish(x, "scores"), "several", [4])]


def sigmoid(made: Fitting) -> list[Output]:
    """One probability: the first two classes, or not."""
    tensor, values = made.row()
    weight, bias = logistic(values, (made.items.labels[:, None] < 2) * 1.0, softmax=False)
    x = made.net.weighted("Gemm", tensor, weight, bias, "/classifier/Gemm")
    x = made.net.add("Sigmoid", [x], "/Sigmoid")
    return [Output(made.finish(x, "probability"), "one", [1])]


def number(made: Fitting) -> list[Output]:
    """A regression: how much of it there is, from about 20 to 130."""
    x = _regression(made, 100 * made.items.facts["amount"], "/regressor/Gemm")
    return [Output(made.finish(x, "amount"), "numbers", [1])]


def numbers(made: Fitting) -> list[Output]:
    """A regression of three numbers, of different spread."""
    amount, labels = made.items.facts["amount"], made.items.labels[:, np.newaxis]
    targets = np.column_stack([amount, 10 * (labels % 2) + amount, 5 * (labels < 2) - amount])
    x = _regression(made, targets, "/regressor/Gemm")
    return [Output(made.finish(x, "coordinates"), "numbers", [3])]


def _regression(made: Fitting, targets: Array, name: str) -> str:
    tensor, values = made.row()
    weight, bias = ridge(values, targets)
    return made.net.weighted("Gemm", tensor, weight, bias, name)


def label_map(made: Fitting) -> list[Output]:
    """Logits of three classes for each pixel, or the classes themselves."""
    values = made.net.values(made.features, made.feed)
    maps = made.items.facts["map"]
    rows = values.transpose(0, 2, 3, 1).reshape(-1, values.shape[1])
    chosen = made.rng.permutation(len(rows))[:20_000]
    targets = np.eye(3)[maps.reshape(-1)[chosen]]
    weight, bias = logistic(rows[chosen].astype(np.float64), targets, softmax=True, steps=150)
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


def several(made: Fitting) -> list[Output]:
    """Classes, and a number of another spread."""
    scores = _classes(made, "/classifier/Gemm")
    probabilities = made.net.add("Softmax", [scores], "/Softmax", axis=-1)
    tensor = next(n.input[0] for n in made.net.nodes if n.name == "/classifier/Gemm")
    values = made.net.values(tensor, made.feed).astype(np.float64)
    weight, bias = ridge(values, 100 * made.items.facts["amount"])
    number = made.net.weighted("Gemm", tensor, weight, bias, "/regressor/Gemm")
    first = made.finish(probabilities, "probabilities")
    second = made.finish(number, "amount")
    return [Output(first, "classes", [CLASSES]), Output(second, "numbers", [1])]


#: Heads by the kind of output, with the scene that they need.
HEADS: dict[str, tuple[Callable[[Fitting], list[Output]], str]] = {
    "softmax": (softmax, "classes"),
    "logits": (logits, "classes"),
    "sigmoids": (sigmoids, "classes"),
    "sigmoid": (sigmoid, "classes"),
    "number": (number, "classes"),
    "numbers": (numbers, "classes"),
    "label map": (label_map, "regions"),
    "ctc": (ctc, "spoken"),
    "embedding": (embedding, "classes"),
    "several outputs": (several, "classes"),
}
