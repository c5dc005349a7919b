"""Results of a Python text as arrays that NumPy can write, whatever framework computed them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


def arrays_of(value: Any) -> list[tuple[NDArray[Any], str]]:
    """The arrays and numbers of a result, and the name of the dtype that each has there.

    ``bfloat16``, which NumPy lacks, becomes ``float32``.

    Args:
        value: arrays, tensors and numbers, perhaps in tuples, lists and dictionaries.
    """
    return [_array(leaf) for leaf in _leaves(value)]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _leaves(part)
    elif value is not None:
        yield value


def _array(leaf: Any) -> tuple[NDArray[Any], str]:
    if hasattr(leaf, "detach"):  # of PyTorch
        leaf = leaf.detach().resolve_conj().resolve_neg()
        name = str(leaf.dtype).removeprefix("torch.")
        return (leaf.float() if name == "bfloat16" else leaf).numpy(), name
    if hasattr(leaf, "values") and hasattr(leaf, "indices"):  # TensorFlow's slices
        leaf = leaf.values
    array = np.asarray(leaf)
    name = str(array.dtype)
    return (array.astype(np.float32) if name == "bfloat16" else array), name
