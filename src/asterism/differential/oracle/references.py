"""Which of the float64 references say what is right: the largest group of them that agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.adapters.backends import INDEPENDENT
from asterism.differential.engine.tolerance import Tolerance
from asterism.differential.oracle.compare import bounds
from asterism.differential.oracle.difference import difference
from asterism.differential.oracle.special_values import Probes

#: What one reference gave for one distribution.
Arrays = Sequence[NDArray[Any]]


def vote(
    outputs: Mapping[str, Arrays],
    spreads: Sequence[float],
    tolerance: Tolerance,
    probes: Probes | None = None,
) -> tuple[str, ...]:
    """The references that are right by majority; all of them where there is none.

    Two references agree where they differ by no more than the model's own dtype may: what a
    library rounds in between to float32 is no disagreement. Of groups of the same size the one
    with more of the independent references counts.

    Args:
        outputs: of each reference that ran, float64.
        spreads: of each output, from :func:`.compare.spreads_by_rounding`.
        tolerance: what may differ.
        probes: of special inputs, for which more than one answer may be right; None for others.
    """
    groups = [
        tuple(r for r in outputs if _agree(outputs[r], outputs[center], spreads, tolerance, probes))
        for center in outputs
    ]
    best = max(groups, key=lambda g: (len(g), len(set(g) & set(INDEPENDENT))), default=())
    return best if len(best) > 1 else tuple(outputs)


def _agree(
    one: Arrays,
    other: Arrays,
    spreads: Sequence[float],
    tolerance: Tolerance,
    probes: Probes | None,
) -> bool:
    """Whether two references agree in all that is decided by what either of them says."""
    if len(one) != len(other):
        return False
    for at, (a, b, spread) in enumerate(zip(one, other, spreads, strict=True)):
        if a.shape != b.shape:
            return False
        allowed = bounds(at, b, spread, tolerance, probes, a)
        if probes is not None:  # what either of them says
            allowed = np.minimum(allowed, bounds(at, a, spread, tolerance, probes, b))
        if difference(a, b, allowed, str(a.dtype)) is not None:
            return False
    return True
