"""Symptoms of a broken output: no answer, the same answer to all inputs, a limit of its type."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.escaping import pluralise

Rows = NDArray[np.float32]

#: Fewer inputs do not tell whether an output is always the same.
_FEWEST = 5
#: A range below this share of the values' size, or of the whole output's range, is none.
_FLAT, _SMALL_PART = 1e-3, 0.05
#: Parts of an output along an axis that are looked at one by one.
_MOST_PARTS = 256
#: Values beyond the limit by this share of the original's range are cut off, and how many have to
#: be so.
_BEYOND, _CUT = 0.02, 0.01


@dataclass(frozen=True)
class Symptom:
    """What is wrong with an output of the compressed model, before any comparison.

    Attributes:
        kind: ``no answer``, ``constant`` or ``saturated``.
        output: the output's name, with the part of it that is meant.
        told: a sentence without its full stop.
    """

    kind: str
    output: str
    told: str


def find_symptoms(f: Rows, g: Rows, shapes: Mapping[str, Sequence[int]]) -> list[Symptom]:
    """Symptoms of the compressed model's outputs that are wrong whatever outputs mean.

    Args:
        f: outputs of the original, ``(N, K)``.
        g: those of the compressed model.
        shapes: the shapes of each output of one input, in the order in which a row holds them.
    """
    found: list[Symptom] = []
    start = 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        place = slice(start, start + size)
        found += _of_output(name, tuple(shape), f[:, place], g[:, place])
        start += size
    return found


def _of_output(name: str, shape: tuple[int, ...], f: Rows, g: Rows) -> Iterator[Symptom]:
    lost = (~np.isfinite(g) & np.isfinite(f)).any(axis=1)
    if lost.any():
        told = f"{name}: no answer (not finite) on {lost.sum()} of {pluralise(len(g), 'input')}"
        yield Symptom("no answer", name, told)
    known = np.isfinite(f).all(axis=1) & np.isfinite(g).all(axis=1)
    if known.sum() < _FEWEST:
        return
    if not known.all():
        f, g = f[known], g[known]
    if _varies(f) and not _varies(g, 0.0):
        same = "is the same for all inputs"
        constant = f"{name} {same}{_value(g)}, while the original's answers differ"
        yield Symptom("constant", name, constant)
        return
    parts = list(_constant_parts(name, shape, f, g))
    yield from parts
    if not parts:
        yield from _saturated(name, f, g)


def _varies(rows: Rows, least: float = _FLAT) -> bool:
    """Whether answers differ from input to input, by more than a share of their size."""
    spread = np.ptp(rows, axis=0).max(initial=0.0)
    return bool(spread > least * max(rows.max(initial=0.0), -rows.min(initial=0.0)))


def _value(rows: Rows) -> str:
    """The value of an output that has one only."""
    return f" ({rows.flat[0]:.3g})" if rows.size and np.ptp(rows) == 0 else ""


def _constant_parts(name: str, shape: tuple[int, ...], f: Rows, g: Rows) -> Iterator[Symptom]:
    """Parts along the shortest axis, such as the scores beside boxes, that became constant."""
    axes = [axis for axis, size in enumerate(shape) if 1 < size <= _MOST_PARTS]
    if len(shape) < 2 or not axes:
        return
    axis = min(axes, key=lambda one: shape[one])
    ours, theirs = (np.moveaxis(m.reshape(len(m), *shape), axis + 1, 0) for m in (f, g))
    whole = float(np.ptp(ours))
    constant = [
        part
        for part in range(shape[axis])
        if np.ptp(theirs[part]) == 0 and _matters(ours[part], whole)
    ]
    if constant:
        numbers = ", ".join(map(str, constant[:8])) + (" …" if len(constant) > 8 else "")
        low, high = ours[constant].min(), ours[constant].max()
        told = (
            f"{name}: part {numbers} of {shape[axis]} along axis {axis + 1} is "
            f"{theirs[constant[0]].flat[0]:.3g} for all inputs, while the original's values go "
            f"from {low:.3g} to {high:.3g}"
        )
        yield Symptom("constant", name, told)


def _matters(part: Rows, whole: float) -> bool:
    """Whether a part's range counts beside the whole output's, or as scores that reach 0.5."""
    spread = float(np.ptp(part))
    scores = part.min() >= 0 and part.max() <= 1 and spread >= 0.5
    return spread > _SMALL_PART * whole or bool(scores)


def _saturated(name: str, f: Rows, g: Rows) -> Iterator[Symptom]:
    """Values that lie at the largest or smallest one, where the original's go well beyond."""
    reach = _BEYOND * float(np.ptp(f))
    for limit, beyond in ((g.max(), f > g.max() + reach), (g.min(), f < g.min() - reach)):
        cut = beyond & (g == limit)
        if reach and cut.mean() > _CUT:
            told = (
                f"{name} is cut off at {limit:.3g}: {cut.mean():.1%} of its values lie there, "
                "while the original's go beyond"
            )
            yield Symptom("saturated", name, told)
