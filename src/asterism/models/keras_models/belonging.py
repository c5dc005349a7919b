"""Checking, before Keras is called, that inputs fit a model."""

from __future__ import annotations

from typing import Any

import keras
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError


def require_images_of(model: keras.Model, images: NDArray[Any]) -> None:
    """Reject images of another shape than a model takes.

    Args:
        model: with one input ``(N, H, W, C)``, sizes of which may be free.
        images: ``(N, H, W, C)``.

    Raises:
        UserError: it names both shapes.
    """
    taken, given = tuple(model.input_shape[1:]), tuple(images.shape[1:])
    fits = len(taken) == len(given) and all(
        wanted in (None, size) for wanted, size in zip(taken, given, strict=True)
    )
    if not fits:
        raise UserError(
            f"the model {model.name} takes inputs of shape {taken}, and the data have {given}: it "
            "was made for other data; `dvc repro` makes what belongs to these parameters"
        )
