"""What flows along an edge of a model graph: a shape and a dtype."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

#: A layer's parameters: JSON values, sequences as lists.
Config = dict[str, Any]

FLOATS = ("float32", "float64", "float16")
INTEGER = "int32"
#: Integer inputs are drawn below this, so every declared embedding knows them.
INTEGER_BOUND = 10

#: Machine epsilon of the dtypes a layer may compute in, and of others that libraries compute in.
EPSILON = {
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
    "float32": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float8_e4m3fn": 2.0**-3,
    "float8_e5m2": 2.0**-2,
}


class InvalidLayerError(ValueError):
    """The layer cannot take these inputs with this configuration: draw again or repair."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor between two layers.

    Args:
        shape: without the batch axis; every size is known.
        dtype: ``"float32"``, ``"float64"``, ``"float16"`` or ``"int32"``.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def rank(self) -> int:
        """Number of axes, the batch axis included, as Keras counts them."""
        return len(self.shape) + 1

    @property
    def size(self) -> int:
        """Number of elements of one item of the batch."""
        return prod(self.shape)


def require_valid(condition: bool, reason: str) -> None:
    """Reject a configuration unless a condition holds.

    Raises:
        InvalidLayerError: ``condition`` does not hold.
    """
    if not condition:
        raise InvalidLayerError(reason)
