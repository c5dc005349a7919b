"""Running the original on some of the user's inputs, to learn what its outputs mean."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.asking.outputs import Output, OutputContext
from asterism.core.messages.errors import UserError
from asterism.data.given import GivenInputs
from asterism.dflare.comparisons import LOST
from asterism.models.isolated_model import ModelCrashError
from asterism.models.signatures.signature import Signature
from asterism.models.tensor_models.feeding import FeedingParams
from asterism.models.tensor_models.model import OpeningRequest
from asterism.models.tensor_models.subjects import OpenModel, Subject
from asterism.vetting.opening import draw_inputs

#: Inputs that the original is looked at with: fewer where an answer has many numbers.
LOOKED, _NUMBERS, _FEWEST = 200, 10_000_000, 2
#: Numbers of inputs that are preprocessed at a time.
_VALUES = 10_000_000
#: The share of inputs from which on a lack of answers is no accident.
_MOST_SILENT = 0.5
#: How far answers to one input are apart, relative and absolute, that are the same but rounded.
_SAME = 1e-3
#: So many different inputs show that an answer does not depend on them.
_SEVERAL = 5


@dataclass(frozen=True)
class OriginalAnswers:
    """The original's answers to the given inputs.

    Attributes:
        outputs: each output's finite answers.
        labels: the labels of the inputs that it answers; None without labels.
        silent: inputs to which it gives no finite answer.
        inputs: how many there are.
        seconds: the seconds that it took for each.
    """

    outputs: tuple[Output, ...]
    labels: NDArray[np.int64] | None
    silent: int
    inputs: int
    seconds: float

    @property
    def mute(self) -> bool:
        """Whether the original gives no finite answer to most of the inputs."""
        return self.silent > _MOST_SILENT * self.inputs

    def to(self, rows: NDArray[np.int64]) -> OriginalAnswers:
        """The original's answers to some of the inputs."""
        outputs = tuple(replace(output, values=output.values[rows]) for output in self.outputs)
        labels = None if self.labels is None else self.labels[rows]
        return OriginalAnswers(outputs, labels, 0, len(rows), self.seconds)


class OriginalProbe:
    """The original, open to be asked about inputs. Use it as a context.

    Pictures may be preprocessed in several ways: the model is opened once, and gets them as it
    takes them.

    Args:
        subject: the original.
        feeding: what it gets beside the inputs.
        inputs: the inputs that it will be asked about.

    Raises:
        UserError: it cannot be opened, or fails on an input.
    """

    def __init__(self, subject: Subject, feeding: FeedingParams, inputs: GivenInputs) -> None:
        signature = subject.signature
        self._answers, self._feeding = signature.answers, feeding
        plain = {
            "outputs": feeding.outputs or [spec.name for spec in signature.answers],
            "preprocessing": None,
            "channels": "rgb",
        }
        self._pictures = inputs.kind == "images"
        few = max(_FEWEST, min(16, _VALUES // inputs.items[0].size))
        self._subject, self._trial_items = subject, inputs.items[:few]
        self._asked = feeding.model_copy(update=plain)
        self._model = self._open(feeding)
        self._inputs = draw_inputs(inputs, max(_FEWEST, _NUMBERS // max(1, self._model.classes)), 0)

    def _ask(self, feeding: FeedingParams) -> list[NDArray[np.float32]]:
        items = self._inputs.items
        size = max(1, _VALUES // items[0].size)
        parts = (items[start : start + size] for start in range(0, len(items), size))
        return [self._model.predict(self._as_taken(part, feeding)) for part in parts]

    def _open(self, feeding: FeedingParams) -> OpenModel:
        self._tried_with = feeding
        items = self._as_taken(self._trial_items, feeding)
        return self._subject.open(OpeningRequest(self._asked, self._pictures, items))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._model.close()

    def look(self, feeding: FeedingParams | None = None) -> OriginalAnswers:
        """The original's answers to the inputs, or to some of them if its answers are large.

        Args:
            feeding: another preprocessing and order of channels.

        Raises:
            UserError: it fails on an input, or answers otherwise when it is asked again.
        """
        inputs, feeding = self._inputs, feeding or self._feeding
        started = time.perf_counter()
        try:
            answers = self._ask(feeding)
        except ModelCrashError:
            if feeding == self._tried_with:
                raise
            # Outputs may have other numbers of rows than so preprocessed as it was opened.
            self._model.close()
            self._model = self._open(feeding)
            answers = self._ask(feeding)
        seconds = (time.perf_counter() - started) / len(inputs.items)
        self._require_repeated(answers[0], feeding)
        model = self._model
        rows = np.concatenate(answers)
        answered = np.isfinite(rows).all(axis=1)
        if not answered.any():  # masked scores are infinite in every answer
            answered = ~np.isnan(rows).any(axis=1)
            rows = np.nan_to_num(rows, posinf=float(LOST), neginf=-float(LOST))
        known, specs = rows[answered], {spec.name: spec for spec in self._answers}
        outputs, start = [], 0
        for name, shape in model.form.shapes.items():
            size = int(np.prod(shape))
            values = known[:, start : start + size].reshape(len(known), *shape)
            start += size
            whole = np.dtype(specs[name].dtype).kind in "iub" and not specs[name].scale
            outputs.append(Output(name, values, specs[name].made_by, whole))
        labels = None if inputs.labels is None else inputs.labels[answered]
        return OriginalAnswers(tuple(outputs), labels, int((~answered).sum()), len(rows), seconds)

    def _require_repeated(self, answers: NDArray[np.float32], feeding: FeedingParams) -> None:
        """Reject a model that answers the same inputs otherwise when it is asked again."""
        few = min(len(self._trial_items), len(answers))
        again = self._model.predict(self._as_taken(self._inputs.items[:few], feeding))
        if not np.allclose(answers[:few], again, rtol=_SAME, atol=_SAME, equal_nan=True):
            raise UserError(
                f"{self._subject} answers the same inputs differently each time: does it draw "
                "random numbers, as dropout does in training? Export it for inference"
            )

    def _as_taken(self, items: NDArray[Any], feeding: FeedingParams) -> NDArray[Any]:
        """Pictures with their channels in order and preprocessed; other inputs as they are."""
        if not self._pictures:
            return items
        ordered = items[..., ::-1] if feeding.channels == "bgr" else items
        return ordered if feeding.preprocessing is None else feeding.preprocessing.apply(ordered)


def ask_model(subject: Subject, feeding: FeedingParams, inputs: GivenInputs) -> OriginalAnswers:
    """A model's answers to the inputs, or to some of them if its answers are large.

    Raises:
        UserError: it cannot be opened, fails on an input, or answers otherwise when asked again.
    """
    with OriginalProbe(subject, feeding, inputs) as model:
        return model.look()


def require_answers(found: OriginalAnswers, subject: Subject, inputs: GivenInputs) -> None:
    """Reject an original with answers from which nothing can be concluded.

    Raises:
        UserError: it gives no finite answer to most of the inputs, or one answer to all.
    """
    if found.mute:
        raise UserError(
            f"{subject} itself gives no finite answer to {found.silent} of {found.inputs} inputs, "
            f"so that nothing can be compared: {_DOUBTS}"
        )
    differ = len(inputs.items) >= _SEVERAL and (inputs.items != inputs.items[:1]).any()
    if differ and not any(np.ptp(o.values, axis=0).any() for o in found.outputs):
        raise UserError(
            f"{subject} itself gives one and the same answer to all {found.inputs} inputs, so that "
            f"nothing can be compared: {_DOUBTS}"
        )


_DOUBTS = "are the inputs the model's, and their preprocessing (--preprocessing)?"


def build_output_context(
    signature: Signature, inputs: GivenInputs, found: OriginalAnswers
) -> OutputContext:
    """What is known about a pair besides its outputs."""
    shape = inputs.items.shape
    sizes = shape[1:3] if inputs.kind == "images" else ()
    spec = next(iter(signature.given))
    channels = shape[3] if inputs.kind == "images" else 0
    return OutputContext(inputs.kind, tuple(sizes), spec.rows, found.labels, channels)
