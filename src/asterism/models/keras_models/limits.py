"""Limits of the outputs and weights that a Keras configuration may ask for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asterism.core.files.limits import require_room
from asterism.core.messages.errors import UserError

if TYPE_CHECKING:
    import keras

#: Of a weight and of an output: float32, which models have as they are built.
_BYTES = 4
#: Inputs that are computed at a time, at least.
_BATCH = 32
#: The method of Keras' variables that takes a weight's memory.
_ALLOCATES = "_initialize_with_initializer"


def require_small_outputs(model: keras.Model, path: Path) -> None:
    """Reject a model that makes of one input more than fits, which takes no weights at all.

    Args:
        model: as it was built; layers inside of other layers are looked at too.
        path: its file, for messages.

    Raises:
        UserError: what a layer computes of a batch is larger than ``limits.array_mb``.
    """
    for layer in model._flatten_layers():
        for node in layer._inbound_nodes:
            for tensor in node.output_tensors:
                sizes = [size for size in tensor.shape if size is not None]
                require_room(
                    _BATCH * _BYTES * math.prod(sizes),
                    "limits.array_mb",
                    f"{path} computes by its layer {layer.name!a} values",
                )


@contextmanager
def weights_within(path: Path) -> Iterator[None]:
    """Count the weights of models that Keras builds in the block, before they are allocated.

    Raises:
        UserError: they take more than ``limits.model_mb``.
    """
    import keras

    asked = 0
    rejections: list[UserError] = []
    # Private: Keras has no public hook between a weight's shape and its allocation.
    owner = next(c for c in keras.Variable.__mro__ if _ALLOCATES in vars(c))
    allocate = vars(owner)[_ALLOCATES]

    def counted(variable: Any, initializer: Any) -> None:
        nonlocal asked
        asked += _BYTES * math.prod(variable.shape)
        try:
            require_room(asked, "limits.model_mb", f"{path} asks for weights")
        except UserError as error:  # Keras would replace the message by its own
            rejections.append(error)
            raise
        allocate(variable, initializer)

    setattr(owner, _ALLOCATES, counted)
    try:
        yield
    except Exception:
        if rejections:
            raise rejections[0] from None
        raise
    finally:
        setattr(owner, _ALLOCATES, allocate)
