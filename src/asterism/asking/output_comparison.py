"""Choosing which outputs of a model are compared, and how: each on its own, or several together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from asterism.asking import detections
from asterism.asking.maps import MAPS, find_blank_symbol, find_image_axes
from asterism.asking.outputs import ComparisonChoice, Output, OutputContext
from asterism.asking.rules import choose_comparison
from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons import COMPARISONS, build_comparison
from asterism.dflare.params import ComparisonParams
from asterism.vetting.opening import find_row_shape


def choose_comparisons(
    outputs: Sequence[Output], scene: OutputContext, kind: str | None
) -> tuple[list[str], ComparisonChoice]:
    """The outputs that are compared, and how.

    Args:
        outputs: all of the original's.
        scene: what is known beside.
        kind: the comparison that was asked for; None for the one that fits.

    Raises:
        UserError: it is not known, or what was asked for fits no output.
    """
    if kind is not None and kind != "together":
        return _asked_for(kind, outputs, scene)
    if len(outputs) == 1 and kind is None:
        return [outputs[0].name], _one(outputs[0], scene)
    parts = list(_parts(outputs, scene))
    if len(parts) == 1 and kind is None:
        return parts[0]
    shapes = {output.name: output.shape for output in outputs}
    parts_as_options = [
        {
            "output": " and ".join(names),
            "shape": list(find_row_shape({name: shapes[name] for name in names})),
            "kind": choice.kind,
            "options": dict(choice.options),
        }
        for names, choice in parts
    ]
    why = "; ".join(f"{choice.kind}, since {choice.why}" for _, choice in parts)
    return [name for names, _ in parts for name in names], ComparisonChoice(
        "together", f"each output by itself: {why}", {"outputs": parts_as_options}
    )


def choose_comparison_kinds(
    outputs: Sequence[Output], scene: OutputContext, kind: str | None
) -> dict[str, str]:
    """The comparison of each output, by name; outputs without a clear one are left out.

    Args:
        outputs, scene, kind: see :func:`choose_comparisons`.
    """
    if kind is not None and kind != "together":
        with suppress(UserError):
            return dict.fromkeys(_asked_for(kind, outputs, scene)[0], kind)
    parts = _parts(outputs, scene, UserError)
    return {name: choice.kind for names, choice in parts for name in names}


def _parts(
    outputs: Sequence[Output], scene: OutputContext, *tolerated: type[Exception]
) -> Iterator[tuple[list[str], ComparisonChoice]]:
    """Outputs that are compared together, then each of the others; without those that fail so."""
    detecting: list[str] = []
    with suppress(*tolerated):
        if (split := detections.recognise_split_detections(outputs, scene)) is not None:
            detecting = split[0]
            yield split
    for output in outputs:
        if output.name not in detecting:
            with suppress(*tolerated):
                yield [output.name], _one(output, scene)


def _one(output: Output, scene: OutputContext) -> ComparisonChoice:
    return detections.recognise_detections(output, scene) or choose_comparison(output, scene)


def _asked_for(
    kind: str, outputs: Sequence[Output], scene: OutputContext
) -> tuple[list[str], ComparisonChoice]:
    """The outputs that a comparison fits best, with the options that the values tell."""
    if kind == "boxes" and len(outputs) > 1:
        try:
            split = detections.recognise_split_detections(outputs, scene)
        except UserError:
            split = None
        if split is not None:
            return split
    for output in outputs:
        try:
            choice = _one(output, scene)
        except UserError:
            continue
        if choice.kind == kind:
            return [output.name], choice
    if COMPARISONS[kind].several and kind != "boxes":
        real = [o for o in outputs if not o.integer] or list(outputs)
        maps = all(find_image_axes(o, scene) is not None for o in real)
        options = MAPS if kind == "regression" and maps else {}
        return [o.name for o in real], ComparisonChoice(kind, "", options)
    reason: UserError | None = None
    for output in sorted(outputs, key=lambda one: (one.integer, _unlike(kind, one))):
        choice = ComparisonChoice(kind, "", _options_of(kind, output, scene))
        try:
            chosen = ComparisonParams(kind=kind, options=dict(choice.options))
            build_comparison(chosen, output.shape)
        except UserError as error:
            reason = reason or error
        else:
            return [output.name], choice
    assert reason is not None
    raise reason


#: How many axes longer than 1 an output mostly has that is compared so, at least and at most.
_AXES = {
    "top_label": (1, 1),
    "multi_label": (0, 1),
    "embedding": (1, 1),
    "token_distribution": (1, 2),
    "frame_scores": (2, 2),
    "sequence": (2, 2),
    "boxes": (2, 2),
    "label_map": (2, 3),
}


def _unlike(kind: str, output: Output) -> bool:
    least, most = _AXES.get(kind, (0, math.inf))
    return not least <= len(output.axes) <= most


def _options_of(kind: str, output: Output, scene: OutputContext) -> dict[str, Any]:
    """Options of a comparison that was asked for, as the values tell them."""
    logits = not output.within_unit
    if kind == "multi_label":
        return {"thresholds": [0.0 if logits else 0.5]}
    if kind == "frame_scores":
        return {"threshold": None if logits or output.sums_to_one() else 0.5}
    if kind == "sequence" and len(output.axes) == 2:
        blank = find_blank_symbol(output)
        scores = "probabilities" if output.sums_to_one() else "logits"
        return {"decoding": "ctc", "blank": 0 if blank is None else blank, "scores": scores}
    if kind == "boxes" and len(output.axes) == 2:
        first, last = (output.shape[axis] for axis in output.axes)
        return {"rows": "first" if first >= last else "last"}
    if kind == "label_map":
        return _map_options(output, scene)
    return {}


def _map_options(output: Output, scene: OutputContext) -> dict[str, Any]:
    """The axis of classes, or the threshold of a mask; what is left of a map's axes tells."""
    places = find_image_axes(output, scene)
    rest = [axis for axis in output.axes if places is None or axis not in places]
    if output.integer or not rest or (places is None and len(rest) < 3):
        whole = bool((output.values == output.values.round()).all())
        threshold = None if whole else 0.5 if output.within_unit else 0.0
        return {"axis": None, "threshold": threshold}
    adding = [axis for axis in rest if output.sums_to_one(axis + 1)]
    return {"axis": min(adding or rest, key=lambda axis: output.shape[axis])}
