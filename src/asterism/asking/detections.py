"""Detections in a model's outputs: where boxes, scores and labels lie, told by their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.asking.outputs import Choice, Output, Scene
from asterism.dflare.comparisons import build_comparison
from asterism.dflare.params import ComparisonParams

Table = NDArray[np.float32]

#: Columns of a detection, at least and at most.
_FEWEST, _MOST = 5, 1000
#: A score from which a detection is looked at, and those that may count.
_LIKELY, _THRESHOLDS = 0.05, (0.5, 0.25, 0.1)
#: Share of the detections that have to look like boxes, since a model errs.
_MOSTLY = 0.98
#: Inputs in which the original has to find something, as a share.
_FINDS = 0.05


def one_output(output: Output, scene: Scene) -> Choice | None:
    """How detections lie in one output, None where it holds none."""
    axes = [size for size in output.shape if size > 1]
    if scene.kind != "images" or len(axes) != 2 or output.integer:
        return None
    whole = output.values.reshape(len(output.values), *axes)
    layouts = [("first", whole), ("last", whole.transpose(0, 2, 1))]
    # Most outputs have more detections than columns.
    for rows, table in sorted(layouts, key=lambda layout: layout[1].shape[2]):
        if _FEWEST <= table.shape[2] <= _MOST:
            found = _columns(table, scene)
            if found is not None:
                return _settled(found | {"rows": rows}, output.name, whole, axes)
    return None


def _settled(
    options: dict[str, Any], name: str, values: Table, shape: Sequence[int]
) -> Choice | None:
    """The layout with a threshold at which the original finds something."""
    rows = np.ascontiguousarray(values).reshape(len(values), -1)
    for threshold in _THRESHOLDS:
        told = options | {"threshold": threshold}
        chosen = ComparisonParams(kind="boxes", options=told)
        comparison = build_comparison(chosen, tuple(shape))
        # Suppressed boxes do not overlap; where others do, the model has not suppressed them.
        bare = comparison.figures(rows, rows)[0].value
        if bare < _FINDS * len(rows):
            continue
        suppressing = told | {"suppress": 0.5}
        chosen = ComparisonParams(kind="boxes", options=suppressing)
        fewer = build_comparison(chosen, tuple(shape)).figures(rows, rows)[0].value < bare
        why = f"{name} holds boxes with scores ({_form(told)}), by the values of its columns"
        return Choice("boxes", why, suppressing if fewer else told)
    return None


def _form(options: dict[str, Any]) -> str:
    names = {
        "corners": "left, top, right, bottom",
        "size": "left, top, width, height",
        "centre": "middle, middle, width, height",
    }
    return f"columns {options['box']} to {options['box'] + 3}: {names[options['form']]}"


def _columns(table: Table, scene: Scene) -> dict[str, Any] | None:
    """Where boxes, scores and labels lie in detections ``(n, B, columns)``; None for nowhere."""
    columns = table.reshape(-1, table.shape[2])
    within = (columns.min(axis=0) >= -1e-3) & (columns.max(axis=0) <= 1 + 1e-3)
    whole = (columns == np.rint(columns)).all(axis=0)
    if table.shape[2] > 8:
        if not within[4:].all() or whole[4:].all():
            return None
        score = columns[:, 4:].max(axis=1)
        form = _form_of(columns[score >= _LIKELY, :4], scene)
        told: dict[str, Any] = {"box": 0, "score": 4, "classes": int(table.shape[2]) - 4}
        return None if form is None else told | {"form": form}
    for box in range(table.shape[2] - 3):
        rest = [c for c in range(table.shape[2]) if not box <= c < box + 4]
        scores = [c for c in rest if within[c] and not whole[c]]
        labels = [c for c in rest if whole[c] and np.ptp(columns[:, c]) > 0]
        if not scores:
            continue
        likely = columns[:, scores].max(axis=1) >= _LIKELY
        form = _form_of(columns[likely, box : box + 4], scene)
        together = scores == list(range(scores[0], scores[0] + len(scores)))
        if form is not None and together and (len(scores) == 1 or not labels):
            found = {"box": box, "form": form, "score": scores[0], "classes": len(scores)}
            return found | ({"label": labels[-1]} if labels else {})
    return None


def _form_of(boxes: Table, scene: Scene) -> str | None:
    """What the four columns of likely detections hold; None where they are no boxes."""
    if not len(boxes) or not np.ptp(boxes, axis=0).all():
        return None
    a, b, c, d = boxes.T
    if ((c > a) & (d > b)).mean() >= _MOSTLY:
        return "corners"
    if ((c > 0) & (d > 0)).mean() < _MOSTLY:
        return None
    right, bottom = (a + c).max(), (b + d).max()
    middle = ((a - c / 2 >= -0.02 * right) & (b - d / 2 >= -0.02 * bottom)).mean() >= _MOSTLY
    return "centre" if middle else "size"


def several_outputs(outputs: Sequence[Output], scene: Scene) -> tuple[list[str], Choice] | None:
    """How detections lie in several outputs: boxes, scores, and perhaps labels and their number.

    Returns:
        The outputs that hold them, in their order, and the comparison; None where none do.
    """
    if scene.kind != "images":
        return None
    for boxes in outputs:
        if boxes.shape[-1:] != (4,) or _count(boxes) < 2:
            continue
        beside = [o for o in outputs if o is not boxes and _count(o) == _count(boxes)]
        scores = [o for o in beside if o.within_unit and not _is_whole(o)]
        labels = [o for o in beside if _is_whole(o) and _width(o) == 1]
        numbers = [o for o in outputs if o.values[0].size == 1 and _is_whole(o)]
        form = _form_of(boxes.values.reshape(-1, 4), scene)
        if scores and form is not None:
            parts = [boxes, scores[0], *labels[:1], *numbers[:1]]
            held = [output for output in outputs if output in parts]
            return _of_parts(held, parts, bool(labels), form, scene)
    return None


def _of_parts(
    held: Sequence[Output], parts: Sequence[Output], labelled: bool, form: str, scene: Scene
) -> tuple[list[str], Choice] | None:
    """The layout of detections in outputs.

    Args:
        held: the outputs in the model's order.
        parts: the same: boxes, scores, then labels and the number, where they are there.
        labelled: whether labels are there.
        form: of the boxes.
        scene: what is known beside.
    """
    rows = _count(parts[0])
    widths = [0 if output.values[0].size < rows else _width(output) for output in held]
    starts = {output.name: sum(widths[:place]) for place, output in enumerate(held)}
    options = {
        **{"outputs": widths, "box": starts[parts[0].name], "form": form},
        **{"score": starts[parts[1].name], "classes": _width(parts[1])},
        **({"label": starts[parts[2].name]} if labelled else {}),
    }
    values = [output.values.reshape(len(output.values), -1) for output in held]
    whole = np.concatenate(values, axis=1)
    names = [output.name for output in held]
    choice = _settled(options, ", ".join(names), whole, (whole.shape[1],))
    return None if choice is None else (names, choice)


def _count(output: Output) -> int:
    """Detections that an output may hold something of: its first axis that is longer than 1."""
    return next((size for size in output.shape if size > 1), 1)


def _width(output: Output) -> int:
    return int(output.values[0].size) // _count(output)


def _is_whole(output: Output) -> bool:
    return output.integer or bool((output.values == np.rint(output.values)).all())
