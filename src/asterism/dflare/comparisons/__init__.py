"""Comparisons by name: whether two models' outputs deviate, and by how much.

Outputs are float32 ``(N, K)``, one row for each input, which holds all that is compared of an
output of any shape. A comparison is told this shape where it needs it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import NoOptions, options_of
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.registry import Registry
from asterism.dflare.params import ComparisonParams

Outputs = NDArray[np.float32]
Floats = NDArray[np.float32]


#: The distance of an answer that one model alone has lost; float32 keeps some room above it.
LOST = np.float32(1e30)
#: Numbers of outputs that are compared at a time: a comparison takes a few copies.
_AT_ONCE = 20_000_000


@dataclass(frozen=True)
class AgreementFigure:
    """A further number about how two models' outputs compare.

    Attributes:
        name: what it is.
        value: the number.
        share: whether it is a share, to be shown in percent.
    """

    name: str
    value: float
    share: bool = False


def find_lost_answers(f: Outputs, g: Outputs) -> NDArray[np.bool_]:
    """Rows in which g is NaN or infinite in a place where f is finite, bool ``(N,)``."""
    places: NDArray[np.bool_] = ~np.isfinite(g) & np.isfinite(f)
    return np.asarray(places.any(axis=1))


def find_unanswered_inputs(f: Outputs) -> NDArray[np.bool_]:
    """Inputs to which the original gives no finite answer, bool ``(N,)``."""
    none: NDArray[np.bool_] = np.asarray(np.isnan(f).any(axis=1))
    return none | ~np.isfinite(f).any(axis=1)


def replace_nonfinite(f: Outputs, g: Outputs) -> tuple[Outputs, Outputs]:
    """Outputs in which what is not finite is a large number.

    In a place where f has no answer, the two do not differ. A place where g alone has none gets
    a large number as well; :func:`find_lost_answers` tells of it.
    """
    known, answered = np.isfinite(f), np.isfinite(g)
    if known.all() and answered.all():
        return f, g
    filled = np.where(known, f, np.where(f == np.inf, LOST, -LOST)).astype(np.float32)
    return filled, np.where(known & answered, g, np.where(known, -LOST, filled)).astype(np.float32)


def _in_parts(
    compare: Callable[[Outputs, Outputs], NDArray[Any]], f: Outputs, g: Outputs
) -> NDArray[Any]:
    """What a comparison of rows gives; of large rows some are compared at a time."""
    size = max(1, _AT_ONCE // max(1, f.shape[1]))
    if len(f) <= size:
        return np.asarray(compare(f, g))
    starts = range(0, len(f), size)
    return np.concatenate([compare(f[s : s + size], g[s : s + size]) for s in starts])


@runtime_checkable
class ProbabilisticComparison(Protocol):
    """A comparison of outputs that give answers, such as labels, with a probability."""

    def answers(self, outputs: Outputs) -> NDArray[np.int64]:
        """What outputs answer, int64 ``(N, A)``; a label is one answer."""

    def sureness(
        self, f: Outputs, g: Outputs, expected: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """How sure the original is of the expected answer, and the compressed model of another one.

        Of several answers it is the one that the compressed model is surest to have wrong.

        Args:
            f: outputs of the original, ``(N, K)``.
            g: outputs of the compressed model, ``(N, K)``.
            expected: the right answers, int64 ``(N, A)``.

        Returns:
            Two probabilities for each input, each float32 ``(N,)``.
        """


class Comparison(ABC):
    """Compares the outputs ``(N, K)`` of the original f and of the compressed model g.

    It is chosen by name and made from its own options.

    Args:
        options: the comparison's own.
        shape: the shape of what a row of outputs holds, such as ``(T, C)``; its product is K.

    Raises:
        UserError: the comparison does not fit outputs of this shape.
    """

    #: The options that this comparison takes.
    Options: ClassVar[type[ParameterSection]] = NoOptions

    #: Whether rows may hold several outputs.
    several: ClassVar[bool] = False

    def __init__(self, options: Any, shape: tuple[int, ...]) -> None:
        self.options = options
        self.shape = shape

    def deviates(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """Whether the two models treat each input differently, bool ``(N,)``.

        An answer that only g lost is a deviation.
        """
        return _in_parts(
            lambda f, g: self.deviates_finite(*replace_nonfinite(f, g)) | find_lost_answers(f, g),
            f,
            g,
        )

    def distance(self, f: Outputs, g: Outputs) -> Floats:
        """How far apart the outputs are, float32 ``(N,)``, at least 0; the search enlarges it.

        An answer that only g lost is :data:`LOST` away.
        """
        return _in_parts(
            lambda f, g: np.where(
                find_lost_answers(f, g), LOST, self.distance_finite(*replace_nonfinite(f, g))
            ),
            f,
            g,
        )

    def uncertainty(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """How undecided the models are between k answers, float32 ``(N,)``, higher is less so."""
        return self.uncertainty_finite(*replace_nonfinite(f, g), k)

    @abstractmethod
    def deviates_finite(self, f: Outputs, g: Outputs) -> NDArray[np.bool_]:
        """:meth:`deviates` of finite outputs."""

    @abstractmethod
    def distance_finite(self, f: Outputs, g: Outputs) -> Floats:
        """:meth:`distance` of finite outputs."""

    def uncertainty_finite(self, f: Outputs, g: Outputs, k: int) -> Floats:
        """:meth:`uncertainty` of finite outputs; the distance, where answers have no margin.

        Numbers are never undecided, and a map of many places has no margin of its own.
        """
        return self.distance_finite(f, g)

    def calibrate(self, f: Outputs, g: Outputs) -> None:  # noqa: B027 (most need not)
        """Learn from both models' outputs ``(M, K)`` on all given inputs, if they matter."""

    def classes(self, outputs: Outputs) -> NDArray[np.int64] | None:
        """The class that each row answers, int64 ``(N,)``; None if rows hold no class."""
        return None

    def chances(self, f: Outputs, g: Outputs) -> tuple[Outputs, Outputs]:
        """Finite outputs with probabilities in place of scores of classes."""
        return replace_nonfinite(f, g)

    def figures(self, f: Outputs, g: Outputs) -> tuple[AgreementFigure, ...]:
        """Further figures about finite outputs for a report."""
        return ()

    def unfolded(self, outputs: Outputs) -> NDArray[np.float32]:
        """The rows ``(N, K)`` in the output's shape, ``(N, *shape)``."""
        return outputs.reshape(len(outputs), *self.shape)


COMPARISONS: Registry[type[Comparison]] = Registry("comparison", "asterism.dflare.comparisons")


def comparison_options(chosen: ComparisonParams) -> ParameterSection:
    """The comparison's options, as it declares them.

    Raises:
        UserError: no such comparison, or the options are none of its.
    """
    return options_of(COMPARISONS, chosen.kind, chosen.options)


def build_comparison(chosen: ComparisonParams, shape: tuple[int, ...]) -> Comparison:
    """The comparison that parameters choose.

    Args:
        chosen: its name and options.
        shape: the shape of the outputs of one item.

    Raises:
        UserError: no such comparison, the options are none of its, or it does not fit the shape.
    """
    return COMPARISONS[chosen.kind](comparison_options(chosen), shape)


def frames_of(kind: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Number of frames and of scores for outputs of this shape; leading axes of 1 are dropped.

    Raises:
        UserError: it is no shape of frames.
    """
    trimmed = shape
    while len(trimmed) > 2 and trimmed[0] == 1:
        trimmed = trimmed[1:]
    if len(trimmed) != 2 or not math.prod(trimmed):
        raise UserError(
            f"comparison {kind} needs outputs of shape (frames, scores), but they are {shape}"
        )
    return trimmed[0], trimmed[1]


def indecision(f: NDArray[np.float32], g: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """How close the k largest of several scores are, in the less decided model.

    DiffChaser's k-uncertainty (Xie et al., IJCAI 2019): one minus the difference of the largest
    and the k-th largest probability.

    Args:
        f: scores of the original, ``(..., C)``.
        g: scores of the compressed model, ``(..., C)``.
        k: how many are compared.

    Returns:
        float32 ``(...)``.
    """
    closeness = []
    for scores in (f, g):
        ordered = np.sort(scores, axis=-1)
        closeness.append(1 - (ordered[..., -1] - ordered[..., -min(k, scores.shape[-1])]))
    least: NDArray[np.float32] = np.maximum(*closeness)
    return least
