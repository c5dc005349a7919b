"""Deviations counted again: each comparison's definition in a few lines of NumPy.

What the options are called, and which are usual, is the product's; how they count is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from asterism.dflare.comparisons import COMPARISONS
from vetted_truth.answers import Answer
from vetted_truth.counting import cosine, overlaps, transcript_error

Array = NDArray[Any]
Rows = NDArray[np.bool_]


def deviations(
    chosen: Mapping[str, Any], roles: Mapping[str, str], f: Sequence[Answer], g: Sequence[Answer]
) -> Rows | None:
    """Which items deviate by a comparison with these options, bool ``(N,)``; None: not known here.

    Args:
        chosen: ``kind`` and ``options``, as the certificate has them.
        roles: what each of the outputs holds.
        f: answers of the original to one item each.
        g: answers of the compressed model, under the same names.
    """
    kind, given = chosen["kind"], dict(chosen.get("options") or {})
    options = COMPARISONS[kind].Options.model_validate(given).model_dump()  # all of them
    if kind == "together":
        parts = []
        for part in options["outputs"]:
            one = {part["output"]: roles.get(part["output"], "")}
            parts.append(deviations(part, one, f, g))
        known = [part for part in parts if part is not None]
        return np.any(known, axis=0) if len(known) == len(parts) else None
    if kind == "boxes":
        return _boxes(options, roles, f, g)
    name = next(iter(roles), "")
    count = _COUNTED.get(kind)
    if count is None or len(roles) > 1 or any(name not in answer for answer in (*f, *g)):
        return None
    x, y = (_stacked(roles[name], [answer[name] for answer in side]) for side in (f, g))
    return np.asarray(count(options, x, y)) | _lost(x, y)


def _stacked(role: str, values: Sequence[Array]) -> Array:
    """The outputs of all items, float64 ``(N, ...)``; the axis of the batch is dropped."""
    axis = 1 if role.endswith("time first") else 0
    return np.stack([v.astype(np.float64).take(0, axis=axis) for v in values])


def _lost(x: Array, y: Array) -> Rows:
    places = np.isfinite(x) & ~np.isfinite(y)
    return np.asarray(places.reshape(len(x), -1).any(axis=1))


def _flat(values: Array) -> Array:
    return values.reshape(len(values), -1)


def _top_label(options: Mapping[str, Any], x: Array, y: Array) -> Rows:
    return np.asarray(_flat(x).argmax(1) != _flat(y).argmax(1))


def _multi_label(options: Mapping[str, Any], x: Array, y: Array) -> Rows:
    least = np.array(options["thresholds"], np.float32)
    return np.asarray(((_flat(x) >= least) != (_flat(y) >= least)).any(1))


def _regression(options: Mapping[str, Any], x: Array, y: Array) -> Rows:
    x, y = _flat(x), _flat(y)
    axis = None if options["common"] else 0
    low, high = np.percentile(x, (1, 99), axis=axis)
    spread = np.maximum(high - low, 1e-5 * np.abs(x).max(axis=axis))
    far = ~(np.abs(x - y) <= options["tolerance"] * spread)
    return np.asarray(far.sum(1) > options["share"] * x.shape[1])


def _tolerance(options: Mapping[str, Any], x: Array, y: Array) -> Rows:
    limit = options["absolute"] + options["relative"] * np.abs(x)
    return np.asarray(_flat(~(np.abs(x - y) <= limit)).any(1))


def _embedding(options: Mapping[str, Any], x: Array, y: Array) -> Rows:
    # The nearest of the given items to one of them is itself.
    return np.asarray(~(cosine(_flat(x), _flat(y)) <= options["tolerance"]))


def _label_map(options: Mapping[str, Any], x: Array, y: Array) -> Rows:
    def labels(values: Array) -> Array:
        if options["axis"] is not None:
            axis = options["axis"]
            return np.asarray(values.argmax(axis + 1 if axis >= 0 else axis))
        if options["threshold"] is not None:
            return np.asarray(values >= options["threshold"])
        return np.asarray(np.rint(values))

    return np.asarray(_flat(labels(x) != labels(y)).mean(1) > options["share"])


def _frame_scores(options: Mapping[str, Any], x: Array, y: Array) -> Rows:
    x, y = (np.squeeze(v, tuple(i for i in range(1, v.ndim) if v.shape[i] == 1)) for v in (x, y))
    least = options["threshold"]
    said = [v.argmax(2)[..., None] if least is None else v >= least for v in (x, y)]
    return np.asarray((said[0] != said[1]).any(2).sum(1) > options["share"] * x.shape[1])


def _sequence(options: Mapping[str, Any], x: Array, y: Array) -> Rows | None:
    if options["decoding"] != "ctc" or options["unit"] != "symbol":
        return None
    sides = zip(x, y, strict=True)
    rates = [transcript_error(a, b, options["blank"]) for a, b in sides]
    return np.asarray(np.array(rates) > options["tolerance"])


def _tokens(options: Mapping[str, Any], x: Array, y: Array) -> Rows:
    p, q = log_softmax(x, -1), log_softmax(y, -1)
    divergence = np.maximum((np.exp(p) * (p - q)).sum(-1), 0)
    return np.asarray(~(_flat(divergence).mean(1) <= options["tolerance"]))


_COUNTED: dict[str, Callable[[Mapping[str, Any], Array, Array], Any]] = {
    "top_label": _top_label,
    "multi_label": _multi_label,
    "regression": _regression,
    "tolerance": _tolerance,
    "embedding": _embedding,
    "label_map": _label_map,
    "frame_scores": _frame_scores,
    "sequence": _sequence,
    "token_distribution": _tokens,
}


def _boxes(
    options: Mapping[str, Any], roles: Mapping[str, str], f: Sequence[Answer], g: Sequence[Answer]
) -> Rows | None:
    """Whether the detections that count are not the same one to one."""
    if any(set(roles) - set(answer) for answer in (*f, *g)):
        return None
    found = []
    for a, b in zip(f, g, strict=True):
        tables = [_table(options, roles, answer) for answer in (a, b)]
        known, answered = (np.isfinite(table) for table in tables)
        if known.shape != answered.shape:  # other numbers of rows: each is finite as a whole
            known, answered = (np.atleast_1d(finite.all()) for finite in (known, answered))
        one, other = (_counting(options, np.nan_to_num(table)) for table in tables)
        lost = bool((known & ~answered).any())
        found.append(lost or not _same(one, other, options["overlap"]))
    return np.array(found)


def _table(options: Mapping[str, Any], roles: Mapping[str, str], answer: Answer) -> Array:
    """One detection in each row."""
    if len(roles) > 1:
        named = {role: answer[name] for name, role in roles.items()}
        parts = [named[f"found {k}"] for k in ("boxes", "scores", "labels")]
        return np.column_stack([p.astype(np.float64) for p in parts])
    (name,) = roles
    values = answer[name].astype(np.float64)
    values = values[0] if values.ndim == 3 else values
    return values if options["rows"] == "first" else values.T


def _counting(options: Mapping[str, Any], table: Array) -> Array:
    """Left, top, right, bottom, score and label of the detections that count."""
    box, score = options["box"], options["score"]
    corners, scores = table[:, box : box + 4].copy(), table[:, score : score + options["classes"]]
    if options["form"] == "centre":
        corners[:, :2] -= corners[:, 2:] / 2
    if options["form"] != "corners":
        corners[:, 2:] += corners[:, :2]
    label = scores.argmax(1) if options["label"] is None else table[:, options["label"]]
    rows = np.column_stack([corners, scores.max(1), label])
    rows = rows[rows[:, 4] >= np.float32(options["threshold"])]
    if options["suppress"] is None:
        return rows
    left, kept = list(rows[np.argsort(-rows[:, 4], kind="stable")]), []
    while left:
        best = left.pop(0)
        kept.append(best)
        same = [row[5] == best[5] for row in left]
        near = [overlaps(best[None], row[None])[0, 0] > options["suppress"] for row in left]
        left = [row for row, s, n in zip(left, same, near, strict=True) if not (s and n)]
    return np.array(kept).reshape(-1, 6)


def _same(one: Array, other: Array, least: float) -> bool:
    """Whether each of one has a partner of its own, those that overlap most first."""
    if len(one) != len(other):
        return False
    shares = np.where(one[:, None, 5] == other[None, :, 5], overlaps(one, other), 0)
    for _ in range(len(one)):
        i, j = np.unravel_index(shares.argmax(), shares.shape)
        if shares[i, j] < least:
            return False
        shares[i], shares[:, j] = -1, -1
    return True
