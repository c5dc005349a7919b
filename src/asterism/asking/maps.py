"""Outputs with a number or scores at each place: of a picture, or of a series of frames."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from asterism.asking.outputs import ComparisonChoice, Output, OutputContext, ambiguous_output_error
from asterism.core.messages.errors import UserError

#: Classes of a map that may be told apart, and places that it has along an axis.
_MAP_CLASSES, _MAP_SIZE = 512, 4
#: A map of classes that has no name has at least every second place of the picture.
_FINE = 2
#: The share of values that has to lie where those of a picture, or of an amount, lie.
_MOSTLY = 0.95

_CLASSES = ("mask", "seg", "logit", "class", "label", "prob", "score")
_AMOUNTS = (
    *("depth", "flow", "disparity", "image", "recon", "normals", "heat", "density"),
    *("decoded", "denoised", "restored", "upscaled"),
)
#: Options of the regression of maps, whose places have one spread.
MAPS = {"common": True, "share": 0.01}


def recognise_integer_map(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    """How a map of integers that are no labels is compared; None for other outputs."""
    axes = find_image_axes(output, scene)
    if axes is None:
        return None
    picture = [output.shape[axis] for axis in output.axes if axis not in axes] == [3]
    if picture or output.named(*_AMOUNTS):
        return ComparisonChoice("regression", f"{output.name} is a picture in whole numbers", MAPS)
    return None


def recognise_map(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    """How a map is compared; None for an output that is no map.

    Raises:
        UserError: its values may be scores of classes or amounts.
    """
    name = output.name
    axis = _axis_of_classes(output)
    if axis is not None:
        return ComparisonChoice(
            "label_map", f"{name} has probabilities at each place", {"axis": axis}
        )
    axes = find_image_axes(output, scene)
    if axes is None:
        return _flattened(output, scene)
    rest = [axis for axis in output.axes if axis not in axes]
    if len(rest) > 1:
        return None
    if output.named(*_AMOUNTS) and not output.named("logit", "mask", "seg"):
        return ComparisonChoice("regression", f"{name} is a map of numbers by its name", MAPS)
    if not rest:
        return _plane(output, scene)
    return _planes(output, scene, rest[0], scene.sizes[0] / output.shape[axes[0]])


def _axis_of_classes(output: Output) -> int | None:
    """The axis along which values of three axes or more add up to 1; None where there is none."""
    if len(output.axes) < 3 or output.by_sigmoid:
        return None
    adding = [axis for axis in output.axes if output.sums_to_one(axis + 1)]
    return adding[0] if len(adding) == 1 else None


def _plane(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    """How one number at each place is compared."""
    name, values = output.name, output.values
    if output.by_softmax or output.sums_to_one():
        return None
    named = output.named(*_CLASSES)
    bounded = output.within_unit and not output.linear
    if output.by_sigmoid and not named and scene.channels == 1:
        raise _open(output, "from a sigmoid, at each place of pictures that are grey themselves")
    if output.by_sigmoid or (bounded and (named or output.decided)):
        why = f"{name} {'comes from a sigmoid' if output.by_sigmoid else 'lies from 0 to 1'}"
        return ComparisonChoice("label_map", f"{why}, and its places are the picture's", _mask(0.5))
    if named and values.min() < 0 < values.max():  # else the threshold would tell nothing apart
        return ComparisonChoice("label_map", f"{name} is a mask of logits by its name", _mask(0.0))
    if named or bounded or (output.made_by != "tanh" and (values >= 0).mean() < _MOSTLY):
        raise _open(
            output, f"one number at each place, from {values.min():.3g} to {values.max():.3g}"
        )
    return ComparisonChoice("regression", f"{name} is a map of numbers", MAPS)


def _planes(
    output: Output, scene: OutputContext, axis: int, coarse: float
) -> ComparisonChoice | None:
    """How several numbers at each place are compared.

    Args:
        output: the output that has them.
        scene: what is known beside.
        axis: along which they lie.
        coarse: how many places of the picture are one of the map, along a side.
    """
    name, count, values = output.name, output.shape[axis], output.values
    named = output.named(*_CLASSES)
    picture = count == 3 and not named
    if output.by_sigmoid:
        if picture and scene.channels == 3 and not output.decided:
            raise _open(output, "three numbers from a sigmoid at each place")
        return ComparisonChoice(
            "label_map", f"{name} has sigmoids at each place of the picture", _mask(0.5)
        )
    if picture and (output.made_by == "tanh" or _like_a_picture(output)):
        return ComparisonChoice("regression", f"{name} is a picture", MAPS)
    within = float(((values > -0.2) & (values < 1.2)).mean()) >= _MOSTLY
    # Features of a network lie in such axes too, and so do heat maps.
    fine = coarse <= _FINE and not within and output.confident(axis + 1)
    if count > _MAP_CLASSES or not (named or (fine and output.made_by not in _FEATURES)):
        return None
    return ComparisonChoice(
        "label_map", f"{name} scores {count} classes at each place", {"axis": axis}
    )


#: Operators that end a layer of features.
_FEATURES = ("relu", "leakyrelu", "clip", "mul", "maxpool", "averagepool", "batchnormalization")


def _like_a_picture(output: Output) -> bool:
    """Whether values lie where those of pictures do: from 0 to 1, or from 0 to 255."""
    values = output.values
    unit = float(((values > -0.05) & (values < 1.05)).mean()) >= _MOSTLY
    grey = float(((values > -5) & (values < 260)).mean()) >= _MOSTLY and values.max() > 50
    return unit or bool(grey and (values >= 0).mean() >= _MOSTLY)


def _mask(threshold: float) -> dict[str, float | None]:
    return {"axis": None, "threshold": threshold}


def _open(output: Output, because: str) -> UserError:
    return ambiguous_output_error(output, "label_map", "regression", because=because)


def _flattened(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    """How scores of classes are compared whose places stand in one row."""
    places, axes = math.prod(scene.sizes), output.axes
    if len(scene.sizes) != 2 or len(axes) != 2 or places not in [output.shape[a] for a in axes]:
        return None
    (axis,) = [a for a in axes if output.shape[a] != places] or [axes[1]]
    told = output.by_softmax or output.named(*_CLASSES) or output.sums_to_one(axis + 1)
    if output.by_sigmoid or output.shape[axis] > _MAP_CLASSES or not told:
        return None
    why = f"{output.name} scores {output.shape[axis]} classes at each of {places} places"
    return ComparisonChoice("label_map", why, {"axis": axis})


def find_image_axes(output: Output, scene: OutputContext) -> tuple[int, int] | None:
    """The axes of a picture's height and width in an output; None if it has none."""
    shape, axes = output.shape, output.axes
    if len(scene.sizes) != 2 or len(axes) not in (2, 3):
        return None
    height, width = scene.sizes
    found = []
    for one, other in pairwise(axes):
        alike = abs(shape[one] * width - shape[other] * height) <= max(height, width)
        large = min(shape[one], shape[other]) >= _MAP_SIZE
        divides = 8 * shape[one] >= height and shape[one] <= 4 * height
        if alike and large and divides:
            found.append((one, other))
    # Of two readings the one of the picture's own sizes.
    same = [pair for pair in found if (shape[pair[0]], shape[pair[1]]) == scene.sizes]
    found = found if len(found) == 1 else same
    return found[0] if len(found) == 1 else None


#: The least share of frames in which a decoder's blank wins.
_BLANK = 0.3
#: The most frames that a symbol lasts in the mean where a decoder reads them.
_LASTS = 5.0

#: Options of frames of which the largest score wins.
_WINNER = {"threshold": None}


def recognise_frame_scores(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    """How scores of symbols or classes over frames are compared; None for other outputs.

    Raises:
        UserError: they may be read with a decoder or without one.
    """
    if len(output.axes) != 2:
        return None
    name = output.name
    turned = output.by_softmax and not _over_last_axis(output)
    if turned:  # frames last, which no comparison reads
        return None
    chances = output.by_softmax or output.sums_to_one()
    blank = (
        None
        if output.by_sigmoid or scene.kind in ("tokens", "bytes")
        else find_blank_symbol(output)
    )
    named = output.named("logit", "class", "score", "label", "symbol")
    plain = output.linear and scene.kind != "tensors" and output.confident(output.axes[-1] + 1)
    if output.named("ctc") or (blank is not None and (chances or named or plain)):
        if blank is None:
            raise ambiguous_output_error(output, "sequence", because="its blank is not known")
        why = f"{name} scores symbols in frames, and the blank, {blank}, wins in most of them"
        scores = "probabilities" if output.sums_to_one() else "logits"
        return ComparisonChoice(
            "sequence", why, {"decoding": "ctc", "blank": blank, "scores": scores}
        )
    if chances:
        return ComparisonChoice(
            "frame_scores", f"{name} has probabilities of classes in frames", _WINNER
        )
    if scene.kind == "images":  # boxes, points and attention have such axes and limits too
        told = output.named("logit") and output.shape[output.axes[-1]] != 4
    else:
        if output.by_sigmoid:
            return ComparisonChoice("frame_scores", f"{name} has scores from 0 to 1 in frames")
        told = named and not output.within_unit
    why = f"{name} has logits of classes in frames"
    return ComparisonChoice("frame_scores", why, _WINNER) if told else None


def _over_last_axis(output: Output) -> bool:
    """Whether what a softmax makes adds up to 1 along the last of two axes, not the first."""
    values = np.exp(output.values) if output.values.max() <= 0 else output.values
    first, last = (np.abs(values.sum(axis=axis + 1) - 1).mean() for axis in output.axes)
    return bool(last <= first)


def find_blank_symbol(output: Output) -> int | None:
    """The first or last symbol, if it wins as often as a decoder's blank; None otherwise.

    It wins many frames, between others that each last a few.

    Args:
        output: of two axes.
    """
    sizes = [output.shape[axis] for axis in output.axes]
    values = output.values.reshape(len(output.values), *sizes)
    winners, symbols = values.argmax(axis=2), values.shape[2]
    if symbols < 3 or winners.shape[1] < 3:
        return None
    ends = (0, symbols - 1)
    for symbol in sorted(ends, key=lambda one: -float((winners == one).mean())):
        silent = winners == symbol
        if not _BLANK <= float(silent.mean()) < 1 or len(np.unique(winners)) < 3:
            continue
        begun = int((silent[:, :-1] & ~silent[:, 1:]).sum())
        runs = _runs(winners, symbol)
        if runs and (~silent).sum() / runs <= _LASTS and begun >= len(winners) / 2:
            return int(symbol)
    return None


def _runs(winners: NDArray[np.int64], blank: int) -> int:
    """How many times a symbol begins that is not the blank."""
    first = winners[:, 0] != blank
    later = (winners[:, 1:] != winners[:, :-1]) & (winners[:, 1:] != blank)
    return int(first.sum() + later.sum())
