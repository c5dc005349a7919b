"""Limits of what a Keras configuration may ask for, since a line of it can ask for any memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asterism.core.errors import UserError
from asterism.core.reading import require_room

#: Layers of a model; the largest published ones have about a thousand.
_MOST_LAYERS = 10_000
#: Of a weight: float32, which models have as they are built.
_BYTES = 4
#: The method of Keras' variables that takes a weight's memory.
_ALLOCATES = "_initialize_with_initializer"


def require_few_layers(config: Any, path: Path) -> None:
    """Refuse a configuration that takes hours to build.

    Args:
        config: a model's, as JSON gives it.
        path: its file, for messages.

    Raises:
        UserError: it names more than 10,000 objects.
    """
    objects, waiting = 0, [config]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            objects += "class_name" in value and "config" in value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    if objects > _MOST_LAYERS:
        raise UserError(f"{path} has more than {_MOST_LAYERS:,} layers: not opened")


@contextmanager
def weights_within(path: Path) -> Iterator[None]:
    """Keras builds models in the block; their weights are counted before they are allocated.

    Raises:
        UserError: they take more than ``limits.model_mb``.
    """
    import keras

    asked = 0
    refusals: list[UserError] = []
    # Private: Keras has no public place between a weight's shape and its memory.
    owner = next(c for c in keras.Variable.__mro__ if _ALLOCATES in vars(c))
    allocate = vars(owner)[_ALLOCATES]

    def counted(variable: Any, initializer: Any) -> None:
        nonlocal asked
        asked += _BYTES * math.prod(variable.shape)
        try:
            require_room(asked, "limits.model_mb", f"{path} asks for weights")
        except UserError as error:  # Keras would tell it in words of its own
            refusals.append(error)
            raise
        allocate(variable, initializer)

    setattr(owner, _ALLOCATES, counted)
    try:
        yield
    except Exception:
        if refusals:
            raise refusals[0] from None
        raise
    finally:
        setattr(owner, _ALLOCATES, allocate)
