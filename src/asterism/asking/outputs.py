"""An output of the original: its known properties, the comparison that fits it, what chance gives.

Whether a model predicts the labels better than by chance tells whether its output, and how it is
fed, have been understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.statistics import exact_interval

Values = NDArray[np.float32]

#: How far a sum of probabilities may be from 1, and numbers outside of [0, 1]: 8 bits round.
_SUM, _OUTSIDE = 0.1, 0.02
#: Steps of a probability in 8 bits, and how far the sum of many of them may be from 1.
_STEPS, _MOST_ROUNDED = 256, 0.5
#: How far the lengths of unit vectors may be from each other.
_UNIT = 0.01
#: So many vectors show that all have one length; fewer have to have the length 1.
_SEVERAL = 5
#: How near to 0 or 1 decided scores are, and the share of them in a model that is trained.
_NEAR, _DECIDED = 0.1, 0.8
#: The mean probability of the largest logit in a model that is trained, at least.
_CONFIDENT = 0.75

#: Operators that add and multiply, so that nothing limits their results.
_LINEAR = (
    *("gemm", "matmul", "conv", "convtranspose", "add", "qgemm", "linear"),
    *("fully_connected", "conv_2d", "depthwise_conv_2d", "transpose_conv", "batch_matmul"),
)
_SIGMOIDS = ("sigmoid", "hardsigmoid", "hard_sigmoid")
_SOFTMAXES = ("softmax", "logsoftmax", "log_softmax")


Labels = NDArray[np.int64]


@dataclass(frozen=True)
class OutputContext:
    """What is known about a pair besides an output itself.

    Attributes:
        kind: the kind of the inputs.
        sizes: the sizes of a picture, height and width; empty of other inputs.
        vocabulary: rows of the table that tokens index; 0 where there is none.
        labels: the right class of each input; None where unknown.
        channels: the channels of pictures; 0 of other inputs.
    """

    kind: str
    sizes: tuple[int, ...] = ()
    vocabulary: int = 0
    labels: NDArray[np.int64] | None = None
    channels: int = 0


@dataclass(frozen=True, eq=False)
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
        """The shape of the output for one input."""
        return self.values.shape[1:]

    @property
    def axes(self) -> list[int]:
        """The axes of :attr:`shape` that are longer than 1."""
        return [axis for axis, size in enumerate(self.shape) if size > 1]

    @property
    def rows(self) -> Values:
        """The answers, one row for each input."""
        return self.values.reshape(len(self.values), -1)

    def named(self, *beginnings: str) -> bool:
        """Whether a word in the output's name begins with one of these texts."""
        parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.name)
        return any(word.startswith(beginnings) for word in re.findall("[a-z]+", parted.lower()))

    @property
    def by_sigmoid(self) -> bool:
        """Whether a sigmoid makes the output."""
        return self.made_by in _SIGMOIDS

    @property
    def by_softmax(self) -> bool:
        """Whether a softmax makes the output."""
        return self.made_by in _SOFTMAXES

    @property
    def linear(self) -> bool:
        """Whether no function, such as a sigmoid or a softmax, limits the output's numbers."""
        return self.made_by in _LINEAR

    @property
    def within_unit(self) -> bool:
        """Whether all values lie from 0 to 1."""
        return bool(self.values.min() >= -_OUTSIDE and self.values.max() <= 1 + _OUTSIDE)

    @property
    def decided(self) -> bool:
        """Whether values look like a trained sigmoid's: most near 0 or 1, some near 1."""
        near = np.minimum(np.abs(self.values), np.abs(self.values - 1)) <= _NEAR
        return self.within_unit and float(near.mean()) >= _DECIDED and self.values.max() > 0.5

    def sums_to_one(self, axis: int | None = None) -> bool:
        """Whether values along an axis of the answers, mostly the last, are probabilities."""
        if not self.within_unit or not self.axes:
            return False
        axis = self.axes[-1] + 1 if axis is None else axis
        steps = self.values * _STEPS
        if np.abs(steps - np.rint(steps)).max() < 1e-3:
            rounded = self.values.shape[axis] / 2 / _STEPS
        else:
            rounded = 0.0
        allowed = max(_SUM, min(_MOST_ROUNDED, rounded))
        return bool(np.abs(self.values.sum(axis=axis) - 1).max() <= allowed)

    def confident(self, axis: int) -> bool:
        """Whether values along an axis look like the logits of a trained classifier.

        Numbers that are no logits are mostly not so far from each other.
        """
        shifted = self.values - self.values.max(axis=axis, keepdims=True)
        return float((1 / np.exp(shifted).sum(axis=axis)).mean()) >= _CONFIDENT

    @property
    def unit_vectors(self) -> bool:
        """Whether all rows are vectors of the same length."""
        lengths = np.linalg.norm(self.rows.astype(np.float64), axis=1)
        if len(lengths) < _SEVERAL:
            return bool(np.abs(lengths - 1).max() <= _UNIT)
        alike = np.ptp(lengths) <= _UNIT * lengths.max()
        return bool(lengths.min() > 0 and alike and np.ptp(self.rows, axis=0).any())


@dataclass(frozen=True)
class ComparisonChoice:
    """How an output is compared.

    Attributes:
        kind: the comparison's name.
        why: what tells it.
        options: the options of the comparison, beside its defaults.
    """

    kind: str
    why: str
    options: Mapping[str, Any] = field(default_factory=dict)


def ambiguous_output_error(output: Output, *fitting: str, because: str = "") -> UserError:
    """The error that asks how an output is compared.

    Args:
        output: the one that can be read in more than one way.
        fitting: names of the comparisons that may be meant.
        because: what leaves it open.
    """
    sizes = " x ".join(map(str, output.shape)) or "one"
    told = because or f"{sizes} real numbers, made by {output.made_by or 'an unknown operator'}"
    meant = {
        "top_label": "top_label (scores of classes or logits)",
        "multi_label": "multi_label (scores of labels)",
        "regression": "regression (numbers)",
        "embedding": "embedding (a vector)",
        "label_map": "label_map (classes of places)",
        "frame_scores": "frame_scores (scores in each frame)",
        "sequence": "sequence (symbols in frames with a decoder)",
        "tolerance": "tolerance (all outputs, number by number)",
    }
    return UserError(
        f"the meaning of the output {output.name} is unknown ({told}): name it with --comparison: "
        f"{', '.join(meant[name] for name in fitting)}"
    )


#: What is right as often as this is no chance, even where all inputs have one label.
_MOSTLY = 0.9
#: Confidence with which answers have to be better than chance.
_SURE = 0.95


def compute_accuracy(rows: NDArray[np.float32], labels: Labels | None) -> float:
    """The share of rows whose largest number is at the label's index; 0 without labels."""
    if labels is None or not len(labels):
        return 0.0
    return float((rows.argmax(axis=1) == labels).mean())


def describe_label_shift(told: Labels, labels: Labels) -> str:
    """In words, the shift of labels that makes answers right; empty if no shift does.

    Files with a class for the background, as those of 1,001 classes of ImageNet, begin one later.
    """
    for step, way in ((1, "one more"), (-1, "one less")):
        right = (told == labels + step).mean()
        if not is_chance_level(told, labels + step, 2):
            return f"with each label {way} it is right on {right:.0%}; "
    return ""


def is_chance_level(told: Labels, labels: Labels | None, tries: int = 1) -> bool:
    """Whether answers are right no more often than answers unrelated to the labels would be.

    That is the agreement that Cohen (1960) expects by chance: the sum over classes of the share
    of answers times the share of labels. Without labels it is not known, so they may be.

    Args:
        told: the answers, at least 0; -1 for none.
        labels: the right ones.
        tries: how many answers were tried, of which these are the best; one of many is better
            than chance by chance (Bonferroni).
    """
    if labels is None or not len(labels):
        return True
    right = int((told == labels).sum())
    if right >= _MOSTLY * len(labels):
        return False
    count = int(max(told.max(), labels.max())) + 1
    shares = [np.bincount(those[those >= 0], minlength=count) for those in (told, labels)]
    expected = float(shares[0] @ shares[1]) / len(labels) ** 2
    low, _ = exact_interval(right, len(labels), 1 - (1 - _SURE) / tries)
    return low <= expected
