"""How far a mutant may stray from its reference image."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.images.mutator import Images


def are_images(inputs: NDArray[Any]) -> bool:
    """Whether inputs are images: uint8 ``(N, H, W, C)``."""
    return inputs.dtype == np.uint8 and inputs.ndim == 4


def differing_inputs(images: NDArray[Any], references: NDArray[Any]) -> NDArray[np.bool_]:
    """Which images, or other inputs, differ from their reference at all; bool ``(N,)``."""
    different: NDArray[np.bool_] = (_flat(images) != _flat(references)).any(axis=1)
    return different


def changed_values(images: Images, references: Images) -> NDArray[np.int64]:
    """L0 distance: how many values of each image differ from its reference; int64 ``(N,)``."""
    changed: NDArray[np.int64] = np.count_nonzero(_flat(images) != _flat(references), axis=1)
    return changed


def largest_change(images: Images, references: Images) -> NDArray[np.int64]:
    """L∞ distance: the largest change of a value in grey levels; int64 ``(N,)``.

    Grey levels are not subtracted as uint8, where 3 − 5 would be 254.
    """
    a, b = _flat(images), _flat(references)
    change: NDArray[np.uint8] = np.max(np.maximum(a, b) - np.minimum(a, b), axis=1, initial=0)
    return change.astype(np.int64)


def acceptable_mutants(
    images: Images, references: Images, l0_share: float = 0.02, linf_share: float = 0.30
) -> NDArray[np.bool_]:
    """Which mutants are still the same picture as their reference: bool ``(N,)``.

    A mutant may change few values at will, or all of them a little (DeepHunter, Xie et al., ISSTA
    2019, section 3.2; DeepStellar's fuzzer uses the same rule).

    Args:
        images: mutants, uint8 ``(N, H, W, C)``.
        references: what each is measured against, of the same shape.
        l0_share: share of the values that may change by any amount.
        linf_share: share of 255 grey levels by which any value may change.
    """
    accepted = largest_change(images, references) <= linf_share * 255
    strong = np.flatnonzero(~accepted)
    values = math.prod(images.shape[1:])
    accepted[strong] = changed_values(images[strong], references[strong]) <= l0_share * values
    return accepted


def _flat(images: NDArray[Any]) -> NDArray[Any]:
    return images.reshape(len(images), math.prod(images.shape[1:]))
