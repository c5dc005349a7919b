"""Which of the float64 references say what is right: the largest group of them that agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.backends import INDEPENDENT
from asterism.libraries.judging.difference import difference
from asterism.libraries.running.tolerance import Tolerance

#: What one reference gave for one distribution.
Arrays = Sequence[NDArray[Any]]


@dataclass(frozen=True)
class Vote:
    """What the references say together.

    Args:
        right: those that agree; all of them where there is no majority.
        odd: those outside of a majority.
        decided: whether two references or more agree.
    """

    right: tuple[str, ...]
    odd: tuple[str, ...]
    decided: bool


def vote(outputs: Mapping[str, Arrays], spreads: Sequence[float], tolerance: Tolerance) -> Vote:
    """Judge the references by majority.

    Two references agree where they differ by no more than the model's own dtype may: what a
    library rounds in between to float32 is no disagreement. Of groups of the same size the one
    with more of the independent references counts.

    Args:
        outputs: of each reference that ran, float64.
        spreads: of each output, from :func:`asterism.libraries.judging.compare.spread_of`.
        tolerance: what may differ.
    """
    groups = [
        tuple(r for r in outputs if _agree(outputs[r], outputs[center], spreads, tolerance))
        for center in outputs
    ]
    best = max(groups, key=lambda g: (len(g), len(set(g) & set(INDEPENDENT))), default=())
    if len(best) < 2:
        return Vote(tuple(outputs), (), False)
    return Vote(best, tuple(r for r in outputs if r not in best), True)


def _agree(one: Arrays, other: Arrays, spreads: Sequence[float], tolerance: Tolerance) -> bool:
    if len(one) != len(other):
        return False
    return all(
        a.shape == b.shape and difference(a, b, tolerance.of(b, spread), str(a.dtype)) is None
        for a, b, spread in zip(one, other, spreads, strict=True)
    )
