"""How an output is compared: told by its shape, its maker, its name, and its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.asking.chance import by_chance, right_of
from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons import build_comparison
from asterism.dflare.params import ComparisonParams

Values = NDArray[np.float32]

#: How far a sum of probabilities may be from 1, and numbers outside of [0, 1]: 8 bits round.
_SUM, _OUTSIDE = 0.1, 0.02
#: How far the lengths of unit vectors may be from each other.
_UNIT = 0.01
#: Share of frames in which a decoder's blank wins.
_BLANK = 0.3
#: Classes of a map that may be told apart, and places that it has along an axis.
_MAP_CLASSES, _MAP_SIZE = 512, 4
#: Numbers that are one label each, so that a map has to have more.
_FEW = 16


@dataclass(frozen=True)
class Scene:
    """What is known beside an output itself.

    Attributes:
        kind: of the inputs.
        sizes: of a picture, height and width; empty of other inputs.
        vocabulary: rows of the table that tokens index; 0 where there is none.
        labels: the right class of each input; None where unknown.
    """

    kind: str
    sizes: tuple[int, ...] = ()
    vocabulary: int = 0
    labels: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Output:
    """One output of the original on the given inputs.

    Attributes:
        name: as the file has it.
        values: its finite answers, float32 ``(n, ...)``.
        made_by: the operator that computes it, in small letters; empty where unknown.
        integer: whether its numbers are integers that stand for themselves.
    """

    name: str
    values: Values
    made_by: str = ""
    integer: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the output of one input."""
        return self.values.shape[1:]

    def named(self, *words: str) -> bool:
        """Whether its name holds one of these words."""
        return any(word in self.name.lower() for word in words)

    @property
    def within_unit(self) -> bool:
        """Whether all values lie from 0 to 1."""
        return bool(self.values.min() >= -_OUTSIDE and self.values.max() <= 1 + _OUTSIDE)

    def sums_to_one(self, axis: int = -1) -> bool:
        """Whether values along an axis are probabilities."""
        return self.within_unit and bool(np.abs(self.values.sum(axis=axis) - 1).max() <= _SUM)

    @property
    def unit_vectors(self) -> bool:
        """Whether each row is a vector of one length."""
        lengths = np.linalg.norm(self.values.reshape(len(self.values), -1), axis=1)
        return bool(lengths.min() > 0 and np.ptp(lengths) <= _UNIT * lengths.max())


@dataclass(frozen=True)
class Choice:
    """How an output is compared.

    Attributes:
        kind: the comparison's name.
        why: what tells it.
        options: of the comparison, beside its defaults.
    """

    kind: str
    why: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def of_shape(self, shape: Sequence[int]) -> Choice:
        """The same, after a trial.

        Raises:
            UserError: the comparison does not fit the output.
        """
        build_comparison(ComparisonParams(kind=self.kind, options=dict(self.options)), tuple(shape))
        return self


def choose(output: Output, scene: Scene) -> Choice:
    """How an output is compared where nobody said so: by the first rule that tells.

    Raises:
        UserError: the file and the values leave it open; it says what may be asked for.
    """
    if not output.values.size:
        raise UserError(f"the output {output.name} holds nothing")
    for rule in _RULES:
        choice = rule(output, scene)
        if choice is not None:
            return choice
    raise UserError(
        f"what the output {output.name} means is not known: {len(_longer(output.shape))} axes of "
        f"real numbers, made by {output.made_by or 'an unknown operator'}. Say it by --comparison: "
        "top_label (scores of classes or logits), multi_label (scores of labels), regression "
        "(numbers), embedding (a vector)"
    )


def _longer(shape: Sequence[int]) -> list[int]:
    """The axes of a shape that are longer than 1."""
    return [axis for axis, size in enumerate(shape) if size > 1]


def _whole_numbers(output: Output, scene: Scene) -> Choice | None:
    if not output.integer:
        return None
    few = math.prod(output.shape) <= _FEW
    options = {"axis": None} | ({"share": 0.0} if few else {})
    return Choice("label_map", f"{output.name} holds whole numbers, which are labels", options)


def _named_vector(output: Output, scene: Scene) -> Choice | None:
    long = len(_longer(output.shape))
    if not long or (long > 1 and scene.kind == "images"):
        return None
    if output.named("embed", "feature", "hidden", "pooled", "pooler"):
        return Choice("embedding", f"{output.name} is a vector by its name")
    if output.made_by in ("lpnormalization", "layernormalization", "l2_normalization"):
        return Choice("embedding", f"{output.name} comes from a normalisation")
    scores = output.sums_to_one() or output.made_by in ("sigmoid", "softmax")
    if long == 1 and not scores and math.prod(output.shape) >= 4 and output.unit_vectors:
        return Choice("embedding", f"{output.name} holds vectors of one length")
    return None


def _language(output: Output, scene: Scene) -> Choice | None:
    if scene.kind != "tokens" or output.shape[-1:] != (scene.vocabulary,) or not scene.vocabulary:
        return None
    return Choice(
        "token_distribution", f"{output.name} scores the {scene.vocabulary} tokens of the inputs"
    )


def _one_number(output: Output, scene: Scene) -> Choice | None:
    if _longer(output.shape):
        return None
    if output.made_by == "sigmoid":
        return Choice("multi_label", f"{output.name} is one number that comes from a sigmoid")
    labels = None if scene.labels is None else set(np.unique(scene.labels).tolist())
    if labels is not None and labels <= {0, 1} and output.within_unit:
        return Choice("multi_label", f"{output.name} is one score, and labels are 0 and 1")
    return Choice("regression", f"{output.name} is one number that no sigmoid makes")


def _classes(output: Output, scene: Scene) -> Choice | None:
    if len(_longer(output.shape)) != 1:
        return None
    rows, name = output.values.reshape(len(output.values), -1), output.name
    if output.made_by in ("softmax", "logsoftmax"):
        return Choice("top_label", f"{name} comes from a softmax")
    if output.made_by == "sigmoid":
        if right_of(rows, scene.labels) > 0.5:
            return Choice("top_label", f"{name} comes from a sigmoid, and inputs have one label")
        return Choice("multi_label", f"{name} comes from a sigmoid")
    if output.sums_to_one():
        return Choice("top_label", f"{name} holds probabilities that add up to 1")
    if output.named("logit", "prob", "class", "score", "softmax"):
        return Choice("top_label", f"{name} holds scores of classes by its name")
    if right_of(rows, scene.labels) and not by_chance(rows.argmax(axis=1), scene.labels):
        return Choice("top_label", f"the largest number of {name} is the label")
    return None


def _map(output: Output, scene: Scene) -> Choice | None:
    axes = _places(output.shape, scene)
    if axes is None:
        return None
    rest = [axis for axis in _longer(output.shape) if axis not in axes]
    name = output.name
    if output.named("depth", "flow", "disparity", "image", "recon", "normal"):
        return Choice("regression", f"{name} is a map of numbers by its name", _OF_MAPS)
    if output.made_by == "sigmoid" or (not rest and output.within_unit):
        why = "comes from a sigmoid" if output.made_by == "sigmoid" else "lies from 0 to 1"
        mask = {"axis": None, "threshold": 0.5}
        return Choice("label_map", f"{name} {why}, and its places are the picture's", mask)
    if not rest:
        if output.named("mask", "seg", "logit"):
            mask = {"axis": None, "threshold": 0.0}
            return Choice("label_map", f"{name} is a mask of logits by its name", mask)
        return Choice("regression", f"{name} is a map of numbers", _OF_MAPS)
    if len(rest) > 1 or output.shape[rest[0]] > _MAP_CLASSES:
        return None
    if output.shape[rest[0]] == 3 and output.within_unit and not output.sums_to_one(rest[0] + 1):
        return Choice("regression", f"{name} is a picture", _OF_MAPS)
    why = f"{name} scores {output.shape[rest[0]]} classes at each place of the picture"
    return Choice("label_map", why, {"axis": rest[0]})


#: Options of the regression of maps, whose places have one spread.
_OF_MAPS = {"common": True, "share": 0.01}


def _places(shape: tuple[int, ...], scene: Scene) -> tuple[int, int] | None:
    """The two axes of an output that are a picture's height and width, None where none are."""
    axes = _longer(shape)
    if len(scene.sizes) != 2 or len(axes) not in (2, 3):
        return None
    height, width = scene.sizes
    for one, other in pairwise(axes):
        alike = abs(shape[one] * width - shape[other] * height) <= max(height, width)
        large = min(shape[one], shape[other]) >= _MAP_SIZE
        divides = 8 * shape[one] >= height and shape[one] <= 4 * height
        if alike and large and divides:
            return one, other
    return None


def _frames(output: Output, scene: Scene) -> Choice | None:
    axes = _longer(output.shape)
    if len(axes) != 2 or scene.kind == "tensors":
        return None
    name, values = output.name, output.values.reshape(len(output.values), *_sizes(output.shape))
    blank = _blank(values)
    if blank is not None and scene.kind in ("images", "sound"):
        why = f"{name} scores symbols in frames, and in most frames wins the blank, {blank}"
        scores = "probabilities" if output.sums_to_one() else "logits"
        options = {"decoding": "ctc", "blank": blank, "scores": scores}
        return Choice("sequence", why, options)
    if output.made_by in ("softmax", "logsoftmax") or output.sums_to_one():
        return Choice("frame_scores", f"{name} has probabilities of classes in frames", _WINNER)
    if output.made_by == "sigmoid" or output.within_unit:
        return Choice("frame_scores", f"{name} has scores from 0 to 1 in frames")
    if output.named("logit", "class", "score", "label"):
        return Choice("frame_scores", f"{name} has logits of classes in frames", _WINNER)
    return None


#: Frames of which the largest score wins.
_WINNER = {"threshold": None}


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size > 1)


def _blank(values: Values) -> int | None:
    """The first or last symbol, where it wins so many frames between others; None of others."""
    winners, symbols = values.argmax(axis=2), values.shape[2]
    if symbols < 3 or winners.shape[1] < 3:
        return None
    shares = {symbol: float((winners == symbol).mean()) for symbol in (0, symbols - 1)}
    symbol = max(shares, key=lambda one: shares[one])
    others = len(np.unique(winners)) > 2
    return symbol if _BLANK <= shares[symbol] < 1 and others else None


def _numbers(output: Output, scene: Scene) -> Choice | None:
    if output.named("value", "coord", "point", "landmark", "angle", "pose", "regress", "target"):
        return Choice("regression", f"{output.name} holds numbers by its name")
    if output.made_by in ("tanh", "relu", "softplus", "exp"):
        return Choice("regression", f"{output.name} holds numbers that come from {output.made_by}")
    if scene.kind == "tensors" and len(_longer(output.shape)) > 1:
        return Choice("regression", f"{output.name} holds numbers that are no scores")
    return None


_RULES: tuple[Callable[[Output, Scene], Choice | None], ...] = (
    _whole_numbers,
    _language,
    _named_vector,
    _one_number,
    _classes,
    _map,
    _frames,
    _numbers,
)
