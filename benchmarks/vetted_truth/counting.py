"""The truth about two models' answers to the same items, counted in a few lines of NumPy.

A role says what an output holds. ``clearly_differs`` and ``clearly_same`` hold whatever tolerance
anyone might choose; of a role that needs none, all items are one or the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from scipy.spatial.distance import cdist

from vetted_truth.answers import Answer

Array = NDArray[Any]
#: What an output may hold, and the names of comparisons that are right for it.
ROLES: dict[str, tuple[str, ...]] = {
    "classes": ("top_label",),
    "several": ("multi_label",),
    "one": ("multi_label",),
    "numbers": ("regression", "tolerance"),
    "map": ("label_map",),
    "map of labels": ("label_map",),
    "transcript": ("sequence", "frame_scores"),
    "transcript, time first": ("sequence", "frame_scores"),
    "embedding": ("embedding",),
    "boxes": ("boxes",),
    "boxes, columns first": ("boxes",),
    "found": ("boxes",),
    "found boxes": ("boxes",),
    "found scores": ("boxes",),
    "found labels": ("boxes",),
    "next token": ("token_distribution",),
}


@dataclass
class Judged:
    """What is known of each item, bool ``(N,)``.

    Attributes:
        finite: the compressed model's answer is finite where the original's is.
        clearly_differs: by any tolerance; whatever is not finite does too.
        clearly_same: by any tolerance.
    """

    finite: Array
    clearly_differs: Array
    clearly_same: Array


def judge(role: str, f: Sequence[Array], g: Sequence[Array]) -> Judged:
    """Compare the answers to each item, ``(1, ...)`` each, by what they hold."""
    finite = np.array([_finite(b) or not _finite(a) for a, b in zip(f, g, strict=True)])
    if role == "classes":
        same = np.array([a.argmax() == b.argmax() for a, b in zip(f, g, strict=True)])
        return _judged(finite, ~same, same)
    if role in ("several", "one"):
        same = np.array([((a >= 0.5) == (b >= 0.5)).all() for a, b in zip(f, g, strict=True)])
        return _judged(finite, ~same, same)
    if role == "numbers":
        x, y = _rows(f), _rows(g)
        error = np.abs(x - y) / (x.std(axis=0) + 1e-9)
        return _judged(finite, ~(error.max(1) <= 0.5), error.max(1) < 0.01)
    if role.startswith("map"):
        pixels = [labels_of(role, a) != labels_of(role, b) for a, b in zip(f, g, strict=True)]
        share = np.array([differ.mean() for differ in pixels])
        return _judged(finite, share > 0.2, share < 0.005)
    if role.startswith("transcript"):
        error = np.array([transcript_error(a, b) for a, b in zip(f, g, strict=True)])
        return _judged(finite, error >= 0.5, error == 0)
    if role == "embedding":
        x, y = _rows(f), _rows(g)
        far = cosine(x, y)
        kept = nearest(x, x) == nearest(x, y)
        return _judged(finite, ~(far <= 0.2), (far < 0.002) & kept)
    if role == "next token":
        off = np.array([(a.argmax(-1) != b.argmax(-1)).mean() for a, b in zip(f, g, strict=True)])
        return _judged(finite, off > 0.2, off == 0)
    if role in ("found", "boxes", "boxes, columns first"):
        a_side, b_side = (
            [found(role, v[0] if role != "found" else v) for v in side] for side in (f, g)
        )
        gone = np.array([_missing(a, b) for a, b in zip(a_side, b_side, strict=True)])
        same = np.array([_same_things(a, b) for a, b in zip(a_side, b_side, strict=True)])
        return _judged(finite, gone, same)
    raise ValueError(role)


def _judged(finite: Array, differs: Array, same: Array) -> Judged:
    return Judged(finite, differs | ~finite, same & finite)


def _one(role: str, f: Sequence[Array], g: Sequence[Array]) -> Judged:
    """Whatever a model answers that answers everything alike is wrong, if the original does not."""
    judged = judge(role, f, g)
    if all(np.array_equal(g[0], v) for v in g) and not all(np.array_equal(f[0], v) for v in f):
        other = np.array([not np.array_equal(a, b) for a, b in zip(f, g, strict=True)])
        judged.clearly_differs |= other
        judged.clearly_same &= ~other
    return judged


def together(parts: Sequence[Judged]) -> Judged:
    """Of several outputs: an item differs where one of them does."""
    kinds = {"finite": np.all, "clearly_differs": np.any, "clearly_same": np.all}
    return Judged(**{k: kind([getattr(p, k) for p in parts], axis=0) for k, kind in kinds.items()})


def by_role(roles: dict[str, str], f: Sequence[Answer], g: Sequence[Answer]) -> Judged:
    """Judge all outputs whose role counts, by name of the original's; ``g`` may name others."""
    if "found boxes" in roles.values():
        named = {role: name for name, role in roles.items()}
        both = [[_joined(answer, named) for answer in renamed(roles, side)] for side in (f, g)]
        return _one("found", both[0], both[1])
    counted = {name: role for name, role in roles.items() if role in ROLES}
    sides = [renamed(roles, side) for side in (f, g)]
    return together(
        [_one(role, *([a[name] for a in side] for side in sides)) for name, role in counted.items()]
    )


def renamed(roles: dict[str, str], side: Sequence[Answer]) -> list[Answer]:
    """Answers under the original's names: a converter names outputs anew, in their order."""
    return [a if set(roles) <= set(a) else dict(zip(roles, a.values(), strict=True)) for a in side]


def _joined(answer: Answer, named: dict[str, str]) -> Array:
    boxes, scores, labels = (answer[named[f"found {k}"]] for k in ("boxes", "scores", "labels"))
    return np.column_stack([boxes, scores, labels]).reshape(-1, 6)


def _finite(values: Array) -> bool:
    return bool(np.isfinite(values.astype(np.float64)).all())


def _rows(values: Sequence[Array]) -> Array:
    return np.stack([v.reshape(-1) for v in values]).astype(np.float64)


def labels_of(role: str, values: Array) -> Array:
    """The class of each pixel."""
    if role == "map of labels":
        return values
    axis = 1 if values.shape[1] < values.shape[-1] else -1
    return np.asarray(values.argmax(axis))


def transcript(scores: Array, blank: int = 0) -> list[int]:
    """Symbols of ``(1, T, V)`` or ``(T, 1, V)``, without repetitions and blanks."""
    best = scores.reshape(-1, scores.shape[-1]).argmax(-1)
    first = np.concatenate([[True], best[1:] != best[:-1]])
    return [int(symbol) for symbol in best[first] if symbol != blank]


def transcript_error(f: Array, g: Array, blank: int = 0) -> float:
    """The edit distance of two transcripts as a share of the first one's symbols."""
    wanted, given = (transcript(scores, blank) for scores in (f, g))
    return Levenshtein.distance(wanted, given) / max(1, len(wanted))


def cosine(x: Array, y: Array) -> Array:
    """1 less the cosine of rows; NaN where one has no direction."""
    with np.errstate(invalid="ignore", divide="ignore"):
        lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
        return np.asarray(1 - (x * y).sum(1) / lengths)


def nearest(known: Array, asked: Array) -> Array:
    """Which of the others is nearest to each row, by cosine."""
    with np.errstate(invalid="ignore", divide="ignore"):
        far = np.nan_to_num(cdist(asked, known, "cosine"), nan=3)
    np.fill_diagonal(far, 4)
    return np.asarray(far.argmin(1))


def found(role: str, values: Array) -> Array:
    """Rows (left, top, right, bottom, score, label) of what an output finds."""
    if role == "found":
        return values.reshape(-1, 6).astype(np.float64)
    rows = (values.T if role.endswith("columns first") else values).astype(np.float64)
    middle, size, scores = rows[:, :2], rows[:, 2:4], rows[:, 4:]
    best = scores.argmax(1)
    return np.column_stack([middle - size / 2, middle + size / 2, scores.max(1), best])


def overlaps(a: Array, b: Array) -> Array:
    """Intersection over union of all pairs of boxes."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:4], b[None, :, 2:4])
    common = np.clip(high - low, 0, None).prod(2)
    areas = [np.clip(v[:, 2:4] - v[:, :2], 0, None).prod(1) for v in (a, b)]
    return np.asarray(common / np.maximum(areas[0][:, None] + areas[1][None] - common, 1e-9))


def _lacks(a: Array, b: Array, high: float, low: float, overlap: float) -> bool:
    """Whether something of ``a`` is far from everything of ``b``."""
    a, b = a[a[:, 4] > high], b[b[:, 4] > low]
    near = (overlaps(a, b) > overlap) & (a[:, None, 5] == b[None, :, 5])
    return bool((~near.any(1)).any())


def _missing(a: Array, b: Array) -> bool:
    return _lacks(a, b, 0.6, 0.25, 0.3) or _lacks(b, a, 0.6, 0.25, 0.3)


def _same_things(a: Array, b: Array) -> bool:
    """Alike by any threshold from 0.3 to 0.6: nothing lies near it, and boxes fit."""
    levels = (0.3, 0.4, 0.5, 0.6)
    return not any(_lacks(x, y, at, at, 0.8) for at in levels for x, y in ((a, b), (b, a)))
