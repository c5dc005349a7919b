"""Rules that choose the comparison of an output by its shape, operator, name and values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from asterism.asking.maps import recognise_frame_scores, recognise_integer_map, recognise_map
from asterism.asking.outputs import (
    ComparisonChoice,
    Output,
    OutputContext,
    ambiguous_output_error,
    compute_accuracy,
    is_chance_level,
)

#: Numbers that are one label each, so that a map has to have more.
_FEW = 16
#: The least numbers of a vector whose unit length is no accident, as that of a rotation is.
_VECTOR = 8
#: Numbers of classes of ImageNet, without and with one for the background.
_IMAGENET = (1000, 1001)

#: Amounts are of many sizes where the largest are so many times the median.
_WIDE = 10
#: Differences that are none whatever the amount, as a share of the median.
_SMALL = 0.001

#: The share of inputs whose label is the place of the largest number, where these are scores.
_MOSTLY = 0.5

_SCORES = ("logit", "prob", "class", "score", "softmax", "confidence")
_NUMBERS = (
    *("value", "coord", "point", "keypoint", "landmark", "angle", "regress", "target"),
    *("pose", "position", "rotation", "translation", "box", "bbox"),
)


def choose_comparison(output: Output, scene: OutputContext) -> ComparisonChoice:
    """How an output is compared if nobody said so, by the first rule that applies.

    Raises:
        UserError: the file and the values leave it open; it says what may be asked for.
    """
    if not output.values.size:
        raise ambiguous_output_error(output, "top_label", "regression", because="it holds nothing")
    for rule in _RULES:
        choice = rule(output, scene)
        if choice is not None:
            return choice
    if len(output.axes) == 1:
        because = ""
        if scene.labels is not None:
            right = compute_accuracy(output.rows, scene.labels)
            because = (
                f"its largest number is the label of {right:.0%} of the inputs: are the labels "
                "(--labels) the model's classes, and the preprocessing (--preprocessing) right?"
            )
        fitting = ["top_label", "multi_label", "regression", "embedding"]
        raise ambiguous_output_error(output, *fitting, because=because)
    framed = ["frame_scores", "sequence"] if len(output.axes) == 2 else ["label_map"]
    mapped = ["label_map"] if scene.kind == "images" and len(output.axes) == 2 else []
    raise ambiguous_output_error(output, *framed, *mapped, "regression", "embedding")


def _whole_numbers(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    if not output.integer:
        return None
    if output.by_softmax or output.by_sigmoid:
        raise ambiguous_output_error(
            output, "top_label", "multi_label", because="integers that stand for a score each"
        )
    found = recognise_integer_map(output, scene)
    if found is not None:
        return found
    few = math.prod(output.shape) <= _FEW
    options = {"axis": None} | ({"share": 0.0} if few else {})
    return ComparisonChoice(
        "label_map", f"{output.name} holds whole numbers, which are labels", options
    )


def _named_numbers(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    numbers = output.named(*_NUMBERS) and not output.named(*_SCORES)
    if len(output.axes) > 2 or not numbers or output.by_softmax or output.sums_to_one():
        return None
    return _amounts(output, f"{output.name} holds numbers by its name")


def _language(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    if scene.kind != "tokens" or output.shape[-1:] != (scene.vocabulary,) or not scene.vocabulary:
        return None
    if len(output.axes) == 1 and _right(output, scene):
        return None
    return ComparisonChoice(
        "token_distribution", f"{output.name} scores the {scene.vocabulary} tokens of the inputs"
    )


def _vector(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    long = len(output.axes)
    if not long or (long > 1 and scene.kind == "images"):
        return None
    if output.by_softmax or output.by_sigmoid:
        return None
    if output.named("embed", "feature", "hidden", "pooled", "pooler"):
        return ComparisonChoice("embedding", f"{output.name} is a vector by its name")
    if output.made_by in ("lpnormalization", "layernormalization", "l2_normalization"):
        return ComparisonChoice("embedding", f"{output.name} comes from a normalisation")
    scores = output.sums_to_one() or output.decided
    if long == 1 and math.prod(output.shape) >= _VECTOR and output.unit_vectors and not scores:
        return ComparisonChoice("embedding", f"{output.name} holds vectors of one length")
    return None


def _one_number(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    if output.axes:
        return None
    name = output.name
    if output.by_sigmoid:
        return ComparisonChoice("multi_label", f"{name} is one number that comes from a sigmoid")
    if scene.labels is not None and set(scene.labels.tolist()) <= {0, 1}:
        if output.within_unit and not output.linear:
            return ComparisonChoice("multi_label", f"{name} is one score, and labels are 0 and 1")
        for threshold, told in ((0.0, "logit"), (0.5, "score")):
            answers = (output.rows[:, 0] >= threshold).astype(int)
            if not is_chance_level(answers, scene.labels):
                why = f"{name} is one {told}, whose labels are told at {threshold:g}"
                return ComparisonChoice("multi_label", why, {"thresholds": [threshold]})
        raise ambiguous_output_error(
            output, "multi_label", "regression", because="one number, and labels are 0 and 1"
        )
    if output.within_unit and not output.linear:
        if output.named("prob", "confidence"):
            return ComparisonChoice("multi_label", f"{name} is one probability by its name")
        if output.made_by not in _NUMBERS_BY:
            raise ambiguous_output_error(
                output, "multi_label", "regression", because="one number from 0 to 1"
            )
    return _amounts(output, f"{name} is one number that no sigmoid makes")


def _classes(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    if len(output.axes) != 1:
        return None
    name = output.name
    if output.by_softmax:
        return ComparisonChoice("top_label", f"{name} comes from a softmax")
    if output.by_sigmoid:
        if _right(output, scene):
            return ComparisonChoice(
                "top_label", f"{name} comes from a sigmoid, and inputs have one label"
            )
        return ComparisonChoice("multi_label", f"{name} comes from a sigmoid")
    if output.sums_to_one():
        return ComparisonChoice("top_label", f"{name} holds probabilities that add up to 1")
    if _right(output, scene):
        return ComparisonChoice("top_label", f"the largest number of {name} is the label")
    # Scores from 0 to 1 that do not add up to 1 may be of labels that are each there or not.
    bounded = output.within_unit and not output.linear
    if output.named("logit") or (output.named(*_SCORES) and not bounded):
        return ComparisonChoice("top_label", f"{name} holds scores of classes by its name")
    if scene.kind == "images" and output.linear and output.rows.shape[1] in _IMAGENET:
        return ComparisonChoice("top_label", f"{name} has as many numbers as ImageNet has classes")
    return None


def _right(output: Output, scene: OutputContext) -> bool:
    """Whether the place of the largest number is the label, mostly and not by chance.

    Of numbers that are no scores it may depend on the label too, so more than chance is no proof.
    """
    if scene.labels is None or scene.labels.max() >= output.rows.shape[1]:
        return False
    if compute_accuracy(output.rows, scene.labels) <= _MOSTLY:
        return False
    return not is_chance_level(output.rows.argmax(axis=1), scene.labels)


def _numbers(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    few = len(output.axes) == 1 and math.prod(output.shape) <= _FEW
    if not few or output.made_by not in _NUMBERS_BY:
        return None
    return _amounts(output, f"{output.name} holds numbers that come from {output.made_by}")


def _amounts(output: Output, why: str) -> ComparisonChoice:
    """Numbers by the spread of the original's own; each by itself where these are of many sizes.

    The spread of prices or distances is that of the largest: small ones could be anything.
    """
    lowest, median, high = np.percentile(output.rows.astype(np.float64), (0, 50, 99), axis=0)
    if not ((lowest > 0) & (high >= _WIDE * median)).all():
        return ComparisonChoice("regression", why)
    told = f"{why}, and its values are of many sizes, so that each is compared by itself"
    return ComparisonChoice("tolerance", told, {"absolute": float(f"{_SMALL * median.min():.1g}")})


#: Operators whose results are amounts.
_NUMBERS_BY = ("tanh", "relu", "softplus", "exp")

_RULES: tuple[Callable[[Output, OutputContext], ComparisonChoice | None], ...] = (
    _whole_numbers,
    _named_numbers,
    _language,
    _vector,
    _one_number,
    _classes,
    recognise_map,
    recognise_frame_scores,
    _numbers,
)
