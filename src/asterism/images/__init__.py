"""Images as uint8 ``(N, H, W, C)``: mutators, and bounds on how far a mutant may stray.

Drawing the random numbers and applying them are two steps. So one set of draws can be applied to
two batches (an image and its reference), draws of many items with streams of their own can be put
together and applied as one batch, and ``apply`` is a plain function that tests can check.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.construction import configure_each
from asterism.core.parameters.registry import Registry
from asterism.core.random_streams import Draws, Randomness, Ranged

# The images are small and come by the thousand: OpenCV's own threads cost more than they bring,
# and the callers have threads of theirs.
cv2.setNumThreads(1)

Images = NDArray[np.uint8]


class Mutator(Ranged, ABC):
    """Turns images into mutants of the same shape and dtype."""

    #: Whether the mutant differs from the image by pixel changes or noise, so that distances to
    #: the original mean something; not so where the whole picture is transformed or toned.
    pixel_level: ClassVar[bool]
    #: Whether an image has so few mutants by it that a search comes to the same ones again.
    few_mutants: ClassVar[bool] = False

    def misfit(self, shape: tuple[int, int, int]) -> str:
        """Which option images of this shape ``(H, W, C)`` are too small for; empty where none."""
        return ""

    def unchanged(self, draws: Draws) -> NDArray[np.bool_]:
        """Which images these draws surely leave as they are, bool ``(N,)`` or one for all.

        A mutator of few mutants should tell; here it is told of none.
        """
        return np.zeros((), np.bool_)

    @abstractmethod
    def draw(self, rng: Randomness, shape: tuple[int, int, int, int]) -> Draws:
        """Everything random about mutating a batch of this shape ``(N, H, W, C)``."""

    @abstractmethod
    def apply(self, images: Images, draws: Draws) -> Images:
        """Mutants of ``images`` (uint8, ``(N, H, W, C)``), clipped to [0, 255], never in place."""


MUTATORS: Registry[type[Mutator]] = Registry("mutator", "asterism.images")

#: Makes mutators: for each one's name the fields that differ from its own ranges.
build_mutators = partial(configure_each, MUTATORS)


def concatenate_draws(draws: Sequence[Draws]) -> Draws:
    """Draws of several batches as those of one: what items with streams of their own need."""
    return {name: np.concatenate([d[name] for d in draws]) for name in draws[0]}


def take_draws(draws: Draws, rows: NDArray[np.integer | np.bool_]) -> Draws:
    """The draws of some images of a batch, by index or mask."""
    return {name: values[rows] for name, values in draws.items()}


def to_pixels(values: NDArray[Any]) -> Images:
    """Grey levels in float, rounded and clipped to uint8; overwrites its argument."""
    np.rint(values, out=values)
    np.clip(values, 0, 255, out=values)
    return values.astype(np.uint8)


def wrap_levels(values: NDArray[Any]) -> Images:
    """Grey levels in float as uint8: the whole part modulo 256."""
    return values.astype(np.int64).astype(np.uint8)


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
