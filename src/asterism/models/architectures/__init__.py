"""Classifier architectures by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from asterism.core.messages.errors import UserError, extract_reason
from asterism.core.parameters.registry import Registry

if TYPE_CHECKING:
    import keras

#: Builds an untrained model from the input's shape ``(H, W, C)`` and the number of classes. The
#: model takes preprocessed float32 images and ends in a softmax.
Architecture = Callable[[tuple[int, int, int], int], "keras.Model"]

ARCHITECTURES: Registry[Architecture] = Registry("architecture", "asterism.models.architectures")


def build_architecture(
    name: str, shape: tuple[int, int, int], classes: int, *, key: str
) -> keras.Model:
    """An untrained model of the architecture that the parameter ``key`` names.

    Raises:
        UserError: no such architecture, or one that images of this shape are too small for.
    """
    architecture = ARCHITECTURES[name]
    try:
        return architecture(shape, classes)
    except ValueError as error:
        reason = extract_reason(str(error))
        raise UserError(
            f"{key} is {name!r}, which cannot be built for images of shape {shape}: choose another "
            f"one, or larger images (Keras says: {reason})"
        ) from None
