"""Originals: a network for a kind of inputs and a kind of output, fitted so that it is good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import vetted_truth.detectors  # noqa: F401 (brings its heads)
from vetted_truth.decoders import decoder
from vetted_truth.decoders import fed as fed_to_decoder
from vetted_truth.heads import HEADS, Fitting, Output
from vetted_truth.items import Items, draw
from vetted_truth.networks import PREPROCESSING, Array, Net, body, fed

#: Items that a last layer is fitted to.
FITTED = 600
#: Kinds of output that are right where they tell an item's label.
CLASSIFIERS = ("softmax", "logits", "sigmoid", "several outputs")
#: Squares are multiplied by one of these before they are summed, to pass half precision's range.
_OVERFLOWING = (3e2, 3e3, 3e4)


@dataclass(frozen=True)
class Asked:
    """What a pair is made of.

    Attributes:
        kind: of output.
        inputs: their kind.
        form: of the compressed file.
        damage: what is wrong with it.
    """

    kind: str
    inputs: str
    form: str
    damage: str


@dataclass
class Original:
    """A model that is not compressed yet.

    Attributes:
        model: of ONNX, or of Keras.
        outputs: what it gives.
        items: that it was fitted to.
        input: name of the main input.
        preprocessing: of pictures.
        labelled: labels are given.
    """

    model: Any
    outputs: list[Output]
    items: Items
    input: str
    preprocessing: str
    labelled: bool

    def feed(self, items: Items) -> dict[str, Array]:
        """Items by the model's inputs."""
        if self.outputs[0].role == "next token":
            return fed_to_decoder(items.values)
        return {self.input: fed(items, self.preprocessing)}

    def roles(self) -> dict[str, str]:
        """What each output holds."""
        return {output.name: output.role for output in self.outputs}


def drawn(asked: Asked, count: int, rng: np.random.Generator) -> Items:
    """Items for a pair; the labels are those of its output."""
    scene = "sentence" if asked.kind == "decoder" else HEADS[asked.kind][1]
    return draw(asked.inputs, scene, count, rng)


def preprocessing_of(asked: Asked, labelled: bool, rng: np.random.Generator) -> str:
    """Mostly the usual one: another can only be known by the labels of a classifier."""
    known = labelled and asked.kind in CLASSIFIERS
    if asked.inputs != "images" or not known or rng.random() < 0.5:
        return "unit"
    return str(rng.choice(list(PREPROCESSING)))


def original_of(asked: Asked, rng: np.random.Generator) -> Original:
    """An original of ONNX."""
    labelled = bool(rng.random() < 0.5)  # others than classifiers, too: photos lie in folders
    preprocessing = preprocessing_of(asked, labelled, rng)
    fixed = asked.kind.startswith("detections ") or rng.random() < 0.5
    net = Net(1 if fixed and asked.kind != "decoder" else "batch")
    items = drawn(asked, FITTED, rng)
    if asked.kind == "decoder":
        _, outputs = decoder(net, items, rng)
        name = "input_ids"
    else:
        name, features = body(net, items, preprocessing, rng)
        feed = {name: fed(items, preprocessing)}
        axes = {"images": 4, "tensors": items.values.ndim}.get(asked.inputs, 3)
        overflows = asked.damage == "half-precision overflow"
        power = float(rng.choice(_OVERFLOWING)) if overflows else 0.0
        plain = bool(rng.random() < 0.5)
        made = Fitting(net, features, axes, items, feed, power, plain, rng)
        outputs = HEADS[asked.kind][0](made)
    model = net.model({output.name: output.described(net.batch) for output in outputs})
    return Original(model, outputs, items, name, preprocessing, labelled)
