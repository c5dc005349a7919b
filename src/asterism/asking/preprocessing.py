"""The preprocessing of pictures: the usual ones are tried on the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.asking.output_comparison import choose_comparison_kinds
from asterism.asking.outputs import Output, OutputContext, compute_accuracy, is_chance_level
from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons.labels import as_probabilities
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.signatures.signature import TensorSpec

#: The most usual first: the one that is taken where nothing speaks for another.
_USUAL = ("unit", "imagenet", "symmetric", "raw")
#: The one that leaves grey levels as they are.
_GREY_LEVELS = "raw"
#: What another has to be better by, as accuracy or as probability of the first class.
_BETTER = 0.02
#: Without labels, a mean probability so far above the usual one's is a hint.
_MORE_CONFIDENT = 0.1
#: How far the ends of ranges may be apart, as a share of the range.
_SAME_RANGE = 0.15
#: Comparisons of outputs that tell an input's class.
_OF_CLASSES = {"top_label", "multi_label"}

#: The share of inputs with one answer from which on a model seems not to see them, and the share
#: up to which it sees them; and how many inputs show it.
_BLIND, _SEES, _SHOWN = 0.95, 0.6, 20


@dataclass(frozen=True)
class PreprocessingTrial:
    """One preprocessing that was tried on the original.

    Attributes:
        name: the name of the preprocessing, a file of ``conf/preprocessing``.
        channels: ``rgb`` or ``bgr``.
        accuracy: the share of inputs that the original then gets right; None without labels.
        confidence: its mean probability of the class that it answers; None where it gives none.
        chance: whether it is right no more often than by chance; True without labels.
        commonest: the share of inputs to which it gives its commonest answer.
    """

    name: str
    channels: str
    accuracy: float | None = None
    confidence: float | None = None
    chance: bool = True
    commonest: float = 0.0

    def __str__(self) -> str:
        told = self.name if self.channels == "rgb" else f"{self.name}, {self.channels}"
        value = self.accuracy if self.accuracy is not None else self.confidence
        return told if value is None else f"{told} {value:.1%}"

    def recorded(self) -> dict[str, Any]:
        """What the page says about the trial."""
        return {name: getattr(self, name) for name in _RECORDED}


#: What is recorded of a trial.
_RECORDED = ("name", "channels", "accuracy", "confidence")


def try_preprocessing(
    known: Mapping[str, PreprocessingParams],
    colours: bool,
    ask: Callable[[PreprocessingParams, str], tuple[Sequence[Output], OutputContext]],
    comparison: str | None = None,
) -> list[PreprocessingTrial]:
    """Try each preprocessing on the original, the most usual ones first.

    Where the outputs hold no classes nothing can be told, and only that one is tried: labels say
    something about a classifier alone.

    Args:
        known: the preprocessings by name.
        colours: whether pictures have channels that may be the other way round.
        ask: what the original answers under one of them and an order of channels.
        comparison: the one that was asked for; None for none.
    """
    found: list[PreprocessingTrial] = []
    names = sorted(known, key=lambda name: (*_USUAL, name).index(name))
    orders = ("rgb", "bgr") if colours else ("rgb",)
    for name, channels in product(names, orders):
        outputs, scene = ask(known[name], channels)
        kinds = choose_comparison_kinds(outputs, scene, comparison)
        rows = _class_scores(outputs, kinds, scene)
        if rows is None:
            found.append(PreprocessingTrial(name, channels))
            is_first = len(found) == 1
            may_be_classes = len(kinds) < len(outputs) or _OF_CLASSES & set(kinds.values())
            if outputs and is_first and (scene.labels is None or not may_be_classes):
                break
            continue
        labels, told = scene.labels, rows.argmax(axis=1)
        tries = len(names) * len(orders)
        found.append(
            PreprocessingTrial(
                name,
                channels,
                None if labels is None else compute_accuracy(rows, labels),
                float(as_probabilities(rows, rows)[0].max(axis=1).mean()),
                is_chance_level(told, labels, tries),
                float(np.bincount(told).max() / len(told)) if len(told) >= _SHOWN else 0.0,
            )
        )
    return found


def _class_scores(
    outputs: Sequence[Output], kinds: Mapping[str, str], scene: OutputContext
) -> NDArray[np.float32] | None:
    """The scores of classes among outputs, one row for each input; None where there are none."""
    most = None if scene.labels is None else int(scene.labels.max())
    for output in outputs:
        kind = kinds.get(output.name)
        if kind == "top_label" and output.rows.shape[1] > (most or 0):
            return output.rows
        if kind == "multi_label" and not output.axes and most is not None and most <= 1:
            score = output.rows
            no = 1 - score if output.within_unit and not output.linear else -score
            return np.concatenate([no, score], axis=1)
    return None


def choose_preprocessing(
    tried: Sequence[PreprocessingTrial], kept: str | None = None
) -> tuple[PreprocessingTrial, str]:
    """The preprocessing to use, and why: the most accurate, or without labels the most confident.

    Of several with which the original is nearly as accurate the most usual is taken.

    Args:
        tried: the most usual first.
        kept: the one whose numbers fill the range that a quantised input keeps: it decides
            between those that are as accurate.

    Raises:
        UserError: the original seems not to see the pictures as they would be given.
    """
    usual, others = tried[0], ", ".join(map(str, tried))
    if any(one.accuracy is not None for one in tried):
        top = max(one.accuracy or 0.0 for one in tried)
        near = [one for one in tried if (one.accuracy or 0.0) > top - _BETTER]
        filling = [one for one in near if one.name == kept and one.channels == usual.channels]
        if filling:
            return filling[0], f"as right as any, and it fills the quantised range ({others})"
        if usual in near or all(one.chance for one in near):
            return usual, f"no other makes the original right clearly more often ({others})"
        plain = [one for one in near if one.channels == usual.channels] or near
        why = "right most often so" if len(plain) == 1 else "equally right with no more usual one"
        return plain[0], f"the original is {why} ({others})"
    if all(one.confidence is None for one in tried):
        return usual, "the usual one, as the outputs suggest no other"
    # Larger numbers make any model more confident, so grey levels as they are do not count.
    scaled = [one for one in tried if one.name != _GREY_LEVELS and one.channels == "rgb"]
    grey = [one for one in tried if one.name == _GREY_LEVELS and one.commonest <= _SEES]
    if grey and all(one.commonest >= _BLIND for one in scaled):
        raise UserError(
            f"the original gives one answer to {usual.commonest:.0%} of the pictures if they are "
            f"scaled as usual, and several if they are grey levels from 0 to 255: name the right "
            f"one with --preprocessing ({', '.join(one.name for one in [*scaled, *grey])})"
        )
    sure = max(scaled or [usual], key=lambda one: one.confidence or 0.0)
    if (sure.confidence or 0.0) < (usual.confidence or 0.0) + _MORE_CONFIDENT:
        return usual, f"the usual one; without labels, confidence is only a hint ({others})"
    return sure, f"a hint: without labels, the original is most confident so ({others})"


def find_preprocessing_by_range(
    spec: TensorSpec, known: Mapping[str, PreprocessingParams], pictures: NDArray[Any]
) -> str | None:
    """The preprocessing whose numbers fill the range of a quantised input; None if none does."""
    if spec.calibrated is None:
        return None
    low, high = spec.calibrated
    gaps = {}
    # Over the pictures first: that goes along memory.
    darkest, brightest = (end(end(pictures, 0), (0, 1)) for end in (np.min, np.max))
    ends_of_channels = np.stack([darkest, brightest])[:, np.newaxis, np.newaxis]
    for name, preprocessing in known.items():
        values = preprocessing.apply(ends_of_channels)
        # A calibrated range holds 0, whatever the pictures are.
        ends = min(0.0, float(values.min())), max(0.0, float(values.max()))
        gaps[name] = max(abs(ends[0] - low), abs(ends[1] - high)) / (high - low)
    name = min(gaps, key=lambda one: gaps[one])
    return name if gaps[name] <= _SAME_RANGE else None
