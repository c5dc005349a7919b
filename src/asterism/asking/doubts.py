"""Doubts about a verdict: labels or preprocessing that do not fit, and inputs that are copies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from asterism.asking.compared_outputs import (
    choose_compared_names,
    find_counterparts,
    select_compared_rows,
)
from asterism.asking.original import OriginalAnswers, OriginalProbe
from asterism.asking.outputs import describe_label_shift, is_chance_level
from asterism.asking.request import VetRequest
from asterism.core.messages.errors import UserError
from asterism.data.given import GivenInputs
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.signatures.signature import Signature
from asterism.models.tensor_models.feeding import Feed
from asterism.models.tensor_models.subjects import Subject
from asterism.vetting.opening import require_labels
from asterism.vetting.params import VetParams

#: So many inputs with labels show whether the original is right by chance.
_FEWEST_LABELLED = 20
#: The share of different inputs below which copies are named.
_MOSTLY_DIFFERENT = 0.5
#: The share of inputs on which a model is as the original that fits, and that does not.
_FITS, _FITS_NOT = 0.9, 0.5
#: Of the range of numbers that a quantised input keeps: the share that inputs fill at least, the
#: share of their numbers that may lie beyond, and what lies beyond, as a share of the range.
_FILLED, _BEYOND, _MARGIN = 0.1, 0.2, 0.1
#: Numbers of inputs that are looked at for that.
_NUMBERS = 10_000_000


def require_better_than_chance(
    request: VetRequest,
    params: VetParams,
    inputs: GivenInputs,
    seen: OriginalAnswers,
    tries: int,
) -> str:
    """Reject labels if the original predicts them no better than by chance.

    Args:
        request: the user's.
        params: how outputs are compared.
        inputs: all that are given.
        seen: the original's answers to some of them.
        tries: of how many preprocessings that were tried the best was taken.

    Returns:
        A line where the original gives all inputs without labels one class, or labels are not used;
        else nothing.

    Raises:
        UserError: so they are.
    """
    chosen, rows = select_compared_rows(params, seen.outputs)
    told = chosen.classes(rows)
    if seen.labels is None:
        if told is not None and len(told) >= _FEWEST_LABELLED and np.ptp(told) == 0:
            return (
                f"the original predicts class {told[0]} for all {len(told)} inputs tried: "
                "if they belong to several classes, their preprocessing is wrong"
            )
        return ""
    require_labels(inputs, chosen, rows.shape[1])
    if told is None:
        kind = params.comparison.kind
        return f"the labels are not used: outputs compared by {kind} give no single class"
    if len(told) < _FEWEST_LABELLED or not is_chance_level(told, seen.labels, tries):
        return ""
    right = int((told == seen.labels).sum())
    by_names = (
        f"they are numbered by the classes' names ({', '.join(inputs.classes[:3])}, …); "
        if inputs.classes
        else ""
    )
    raise UserError(
        f"{request.original} itself is right on {right} of {len(told)} inputs, no more than by "
        "chance, so that a verdict would be about a mistake. Are the labels the model's classes "
        f"({by_names}{describe_label_shift(told, seen.labels)}others: --labels), is the "
        "preprocessing right (--preprocessing), and are outputs compared as they are meant "
        "(--comparison)?"
    )


def check_duplicate_inputs(inputs: GivenInputs) -> str:
    """A warning if most inputs are copies of others, which intervals ignore; else an empty text."""
    different = len({hash(item.tobytes()) for item in inputs.items})
    if different > _MOSTLY_DIFFERENT * len(inputs.items):
        return ""
    return (
        f"only {different} of the {len(inputs.items)} inputs looked at are distinct: the intervals "
        "assume independent inputs, so they are too narrow"
    )


def check_same_file(original: Subject, compressed: Subject) -> str:
    """A warning if both models are the same file, byte by byte; otherwise an empty text."""
    if original.size != compressed.size:  # so that large files are not read
        return ""
    if original.digest is None or original.digest != compressed.digest:
        return ""
    return f"{original.name} and {compressed.name} are the same file, byte by byte"


def check_calibration(
    params: VetParams, signature: Signature, compressed: Subject, inputs: GivenInputs
) -> str:
    """A warning if inputs do not fit the range of the compressed model's quantised input.

    Args:
        params: how the models are fed.
        signature: the signature of the original, which takes real numbers.
        compressed: the compressed model.
        inputs: some of the given ones.
    """
    if signature.streams or compressed.signature.streams:
        return ""
    feeds = [
        Feed(one, params.feeding, inputs.kind == "images")
        for one in (signature, compressed.signature)
    ]
    kept, items = feeds[1].main.calibrated, inputs.items
    if kept is None:
        return ""
    values = feeds[0].inputs(items[: max(1, _NUMBERS // items[0].size)])[feeds[0].main.name]
    if values.dtype.kind != "f":
        return ""
    low, high = kept
    width = high - low
    filled = float(np.ptp(values)) / width
    beyond = float(((values < low - _MARGIN * width) | (values > high + _MARGIN * width)).mean())
    told = f"the input of {compressed.name} keeps numbers from {low:.3g} to {high:.3g}, "
    ask = ": are the inputs preprocessed as those that it was calibrated with?"
    if filled < _FILLED:
        return f"{told}of which the given ones, up to {values.max():.3g}, fill {filled:.1%}{ask}"
    return f"{told}and {beyond:.0%} of the given ones lie beyond{ask}" if beyond > _BEYOND else ""


def check_preprocessing(
    subject: Subject,
    params: VetParams,
    known: Mapping[str, PreprocessingParams],
    pictures: GivenInputs,
    own: OriginalAnswers,
) -> str:
    """A warning if the models agree only under another preprocessing; otherwise an empty text.

    A file may hold a part of the preprocessing, or take colours in another order.

    Args:
        subject: the compressed model.
        params: what is asked.
        known: preprocessings by name.
        pictures: some of the given ones.
        own: the original's answers to them.
    """
    feeding = params.feeding.model_copy(update={"outputs": None})
    orders = ("rgb", "bgr") if pictures.items.shape[-1] == 3 else ("rgb",)
    with OriginalProbe(subject, feeding, pictures) as model:
        before = _alike(params, own, model.look())
        if before is None or before > _FITS_NOT:
            return ""
        for name, preprocessing in known.items():
            for order in orders:
                changed = {"preprocessing": preprocessing, "channels": order}
                after = _alike(params, own, model.look(feeding.model_copy(update=changed)))
                if after is not None and after >= _FITS:
                    colours = "" if order == "rgb" else f", channels {order}"
                    return (
                        f"{subject.name} answers as the original does on {after:.0%} of the "
                        f"pictures that were tried where these are preprocessed by {name}{colours},"
                        f" and on {before:.0%} as the original takes them: it may hold a part of "
                        "the preprocessing itself"
                    )
    return ""


def _alike(params: VetParams, own: OriginalAnswers, other: OriginalAnswers) -> float | None:
    """The share of inputs to which two models answer alike; None where that is not known."""
    comparison, rows = select_compared_rows(params, own.outputs)
    theirs = {output.name: output.rows for output in other.outputs}
    names = find_counterparts(params, choose_compared_names(params, own.outputs), other.outputs)
    answers: NDArray[np.float32] = np.concatenate([theirs[name] for name in names], axis=1)
    if answers.shape != rows.shape:
        return None
    return float(1 - comparison.deviates(rows, answers).mean())
