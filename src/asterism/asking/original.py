"""The original is looked at first: what it answers to some of the given inputs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.asking.outputs import Output, Scene
from asterism.core.messages.errors import UserError
from asterism.data.given.reading import GivenInputs
from asterism.models.signatures.signature import Signature
from asterism.models.tensor_models.feeding import FeedingParams
from asterism.models.tensor_models.isolated import IsolatedFileModel

#: Inputs that the original is looked at with.
LOOKED = 200
#: The share of inputs from which on a lack of answers is no accident.
_MOST_SILENT = 0.5


@dataclass(frozen=True)
class Look:
    """What the original answers.

    Attributes:
        outputs: each output's finite answers.
        labels: of the inputs that it answers; None without labels.
        silent: inputs to which it gives no finite answer.
        inputs: how many there are.
    """

    outputs: tuple[Output, ...]
    labels: NDArray[np.int64] | None
    silent: int
    inputs: int


def look(path: Path, signature: Signature, feeding: FeedingParams, inputs: GivenInputs) -> Look:
    """Ask the original about the inputs.

    Raises:
        UserError: it cannot be opened, or fails on an input.
    """
    every = feeding.outputs or [spec.name for spec in signature.answers]
    asked = feeding.model_copy(update={"outputs": every})
    with IsolatedFileModel(path, asked, inputs.kind == "images", inputs.items[:16]) as model:
        rows, shapes = model.predict(inputs.items), model.shapes
    answered = np.isfinite(rows).all(axis=1)
    if not answered.any():
        answered = ~np.isnan(rows).any(axis=1)
    known, specs = rows[answered], {spec.name: spec for spec in signature.answers}
    outputs, start = [], 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        values = known[:, start : start + size].reshape(len(known), *shape)
        start += size
        whole = np.dtype(specs[name].dtype).kind in "iub" and not specs[name].scale
        outputs.append(Output(name, values, specs[name].made_by, whole))
    labels = None if inputs.labels is None else inputs.labels[answered]
    return Look(tuple(outputs), labels, int((~answered).sum()), len(rows))


def require_answers(found: Look, path: Path) -> None:
    """Reject an original that gives no finite answers.

    Raises:
        UserError: it gives none to most of the inputs.
    """
    if found.silent > _MOST_SILENT * found.inputs:
        raise UserError(
            f"{path} itself gives no finite answer to {found.silent} of {found.inputs} inputs, so "
            "that nothing can be compared: are the inputs the model's, and their preprocessing "
            "(--preprocessing)?"
        )


def scene_of(signature: Signature, inputs: GivenInputs, found: Look) -> Scene:
    """What is known beside the outputs."""
    shape = inputs.items.shape
    sizes = shape[1:3] if inputs.kind == "images" else ()
    spec = next(iter(signature.given))
    return Scene(inputs.kind, tuple(sizes), spec.rows, found.labels)
