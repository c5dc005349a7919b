"""Detections in a model's outputs: where boxes, scores and labels lie, told by their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.asking.maps import find_image_axes
from asterism.asking.outputs import ComparisonChoice, Output, OutputContext, ambiguous_output_error
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
#: How far boxes reach at least, in pixels or as shares of the picture, and beyond the picture.
_REACH, _BEYOND = 0.2, 0.1
#: Columns up to which labels may stand beside scores; with more, each is a class's score.
_FEW_COLUMNS = 8
#: The score of a class where another column says with certainty that something is there.
_SURE = 0.5

_FORMS = {
    "corners": "left, top, right, bottom",
    "centre": "middle, middle, width, height",
    "size": "left, top, width, height",
}


def recognise_detections(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    """How one output holds detections; None if it holds none."""
    axes = [output.shape[axis] for axis in output.axes]
    if scene.kind != "images" or len(axes) != 2 or output.integer:
        return None
    if output.by_softmax or output.by_sigmoid or output.sums_to_one():
        return None
    if find_image_axes(output, scene) is not None:
        return None
    whole = output.values.reshape(len(output.values), *axes)
    layouts = [("first", whole), ("last", whole.transpose(0, 2, 1))]
    # Most outputs have more detections than columns.
    for rows, table in sorted(layouts, key=lambda layout: layout[1].shape[2]):
        if not _FEWEST <= table.shape[2] <= _MOST:
            continue
        for found in _columns(table.reshape(-1, table.shape[2])):
            choice = _choose_threshold(found | {"rows": rows}, output.name, whole, axes)
            if choice is not None:
                return choice
    return None


def recognise_split_detections(
    outputs: Sequence[Output], scene: OutputContext
) -> tuple[list[str], ComparisonChoice] | None:
    """How several outputs hold detections: boxes, scores, perhaps labels and a count.

    Returns:
        The outputs that hold them, in their order, and the comparison; None where none do.

    Raises:
        UserError: there are boxes, and it is not known how sure the model is of them.
    """
    if scene.kind != "images":
        return None
    for boxes in outputs:
        if boxes.shape[-1:] != (4,) or _count(boxes) < 2 or boxes.integer:
            continue
        beside = [o for o in outputs if o is not boxes and _count(o) == _count(boxes)]
        labels = [o for o in beside if _is_whole(o) and _width(o) == 1]
        numbers = [o for o in outputs if o.values[0].size == 1 and _is_whole(o)]
        for scores in beside:
            if not scores.within_unit or _is_whole(scores) or scores.sums_to_one():
                continue
            sure = scores.values.reshape(-1, _width(scores)).max(axis=1) >= _LIKELY
            table = boxes.values.reshape(-1, 4)[sure]
            for form in _FORMS:
                if not _is_form(table, form):
                    continue
                parts = [boxes, scores, *labels[:1], *numbers[:1]]
                found = _of_parts(outputs, parts, bool(labels), form)
                if found is not None:
                    return found
        if boxes.named("box", "bbox") and beside:
            because = "boxes, but no output of as many scores from 0 to 1"
            raise ambiguous_output_error(boxes, "tolerance", because=because)
    return None


def _choose_threshold(
    options: dict[str, Any], name: str, values: Table, shape: Sequence[int]
) -> ComparisonChoice | None:
    """The layout with a threshold at which the original finds something."""
    rows = np.ascontiguousarray(values).reshape(len(values), -1)
    for threshold in _THRESHOLDS:
        told = options | {"threshold": threshold}
        bare = _found(told, rows, shape)
        if bare < max(1, _FINDS * len(rows)):
            continue
        # Suppressed boxes do not overlap; where others do, the model has not suppressed them.
        suppressing = told | {"suppress": 0.5}
        fewer = _found(suppressing, rows, shape) < bare
        where = f"columns {options['box']} to {options['box'] + 3}: {_FORMS[options['form']]}"
        why = f"{name} holds boxes with scores ({where}), by the values of its columns"
        return ComparisonChoice("boxes", why, suppressing if fewer else told)
    return None


def _found(options: dict[str, Any], rows: Table, shape: Sequence[int]) -> float:
    """How many things the original finds in all."""
    chosen = ComparisonParams(kind="boxes", options=options)
    return build_comparison(chosen, tuple(shape)).figures(rows, rows)[0].value


def _columns(columns: Table) -> Iterator[dict[str, Any]]:
    """Where boxes, scores and labels may lie in rows of columns, the likeliest first."""
    count = columns.shape[1]
    within = (columns.min(axis=0) >= -1e-3) & (columns.max(axis=0) <= 1 + 1e-3)
    whole = (columns == np.rint(columns)).all(axis=0)
    for form in _FORMS:
        for box in _places_of_box(count):
            if 0 < whole[box : box + 4].sum() < 4:
                continue  # a label is no side of a box
            rest = [c for c in range(count) if not box <= c < box + 4]
            scores = [c for c in rest if within[c] and not (whole[c] and count <= _FEW_COLUMNS)]
            labels = [c for c in rest if whole[c] and c not in scores]
            if sorted(scores + labels) != rest or whole[scores].all():
                continue
            if scores != list(range(scores[0], scores[0] + len(scores))):
                continue
            likely = columns[:, scores].max(axis=1) >= _LIKELY
            if not _is_form(columns[likely, box : box + 4], form):
                continue
            varying = [c for c in labels if np.ptp(columns[:, c]) > 0]
            if len(scores) > 1 and varying:
                continue
            told: dict[str, Any] = {"box": box, "form": form}
            if _is_objectness(columns[:, scores]):
                told["objectness"] = scores.pop(0)
            told |= {"score": scores[0], "classes": len(scores)}
            yield told | ({"label": varying[-1]} if varying else {})


def _places_of_box(columns: int) -> list[int]:
    """Where the box may begin, the usual places first: in front, and at the end."""
    if columns > _FEW_COLUMNS:
        return [0]
    last = columns - 4
    return sorted(range(last + 1), key=lambda box: (box not in (0, last), box))


def _is_objectness(scores: Table) -> bool:
    """Whether the first score says that there is something, and the others what it is.

    Then another score is mostly high where the first is. Of classes alone, one is.
    """
    sure = scores[:, 0] >= _SURE
    if scores.shape[1] < 2 or not sure.any():
        return False
    return bool((scores[sure, 1:].max(axis=1) >= _SURE).mean() >= 0.5)


def _is_form(boxes: Table, form: str) -> bool:
    """Whether the four columns of likely detections hold boxes in this form."""
    if not len(boxes) or not np.ptp(boxes, axis=0).all():
        return False
    a, b, c, d = boxes.T.astype(np.float64)
    if form == "corners":
        sides, ends = (c - a, d - b), (a, b, c, d)
    elif form == "size":
        sides, ends = (c, d), (a, b, a + c, b + d)
    else:
        sides, ends = (c, d), (a - c / 2, b - d / 2, a + c / 2, b + d / 2)
    if ((sides[0] > 0) & (sides[1] > 0)).mean() < _MOSTLY:
        return False
    reach = max(float(ends[2].max()), float(ends[3].max()))
    # A box in a picture begins in it or near to it, and one of them is not tiny.
    inside = (ends[0] >= -_BEYOND * reach) & (ends[1] >= -_BEYOND * reach)
    return reach >= _REACH and float(inside.mean()) >= _MOSTLY


def _of_parts(
    outputs: Sequence[Output], parts: Sequence[Output], labelled: bool, form: str
) -> tuple[list[str], ComparisonChoice] | None:
    """The layout of detections in outputs.

    Args:
        outputs: all, in the model's order.
        parts: boxes, scores, then labels and the number, where they are there.
        labelled: whether labels are there.
        form: the form of the boxes.
    """
    held, rows = [output for output in outputs if output in parts], _count(parts[0])
    widths = [0 if output.values[0].size < rows else _width(output) for output in held]
    starts = {output.name: sum(widths[:place]) for place, output in enumerate(held)}
    options = {
        **{"outputs": widths, "box": starts[parts[0].name], "form": form},
        **{"score": starts[parts[1].name], "classes": _width(parts[1])},
        **({"label": starts[parts[2].name]} if labelled else {}),
    }
    whole = np.concatenate([output.rows for output in held], axis=1)
    names = [output.name for output in held]
    choice = _choose_threshold(options, ", ".join(names), whole, (whole.shape[1],))
    return None if choice is None else (names, choice)


def _count(output: Output) -> int:
    """Detections that an output may hold something of: its first axis that is longer than 1."""
    return next((size for size in output.shape if size > 1), 1)


def _width(output: Output) -> int:
    return int(output.values[0].size) // _count(output)


def _is_whole(output: Output) -> bool:
    return output.integer or bool((output.values == np.rint(output.values)).all())
