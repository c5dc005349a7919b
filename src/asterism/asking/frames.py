"""Scores over frames: symbols with a decoder, or what is there in each frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asterism.asking.outputs import ComparisonChoice, Output, OutputContext, open_question

#: The least share of frames in which a decoder's blank wins.
_BLANK = 0.3
#: The most frames that a symbol lasts in the mean where a decoder reads them.
_LASTS = 5.0

#: Options of frames of which the largest score wins.
_WINNER = {"threshold": None}


def frames(output: Output, scene: OutputContext) -> ComparisonChoice | None:
    """How scores of symbols or classes over frames are compared; None of what is no such.

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
    blank = None if output.by_sigmoid or scene.kind in ("tokens", "bytes") else blank_of(output)
    named = output.named("logit", "class", "score", "label", "symbol")
    plain = output.linear and scene.kind != "tensors" and output.confident(output.axes[-1] + 1)
    if output.named("ctc") or (blank is not None and (chances or named or plain)):
        if blank is None:
            raise open_question(output, "sequence", because="its blank is not known")
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


def blank_of(output: Output) -> int | None:
    """The first or last symbol, where it wins as a decoder's blank does; None of others.

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
