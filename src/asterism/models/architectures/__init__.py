"""Classifier architectures by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from asterism.core.registry import Registry

if TYPE_CHECKING:
    import keras

#: Builds an untrained model from the input's shape ``(H, W, C)`` and the number of classes. The
#: model takes preprocessed float32 images and ends in a softmax.
Architecture = Callable[[tuple[int, int, int], int], "keras.Model"]

ARCHITECTURES: Registry[Architecture] = Registry("architecture", "asterism.models.architectures")
