"""Images as pixels in [0, 1], how far a change goes, and random changes of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.attack import Floats, Ints
from asterism.core.random_streams import stream

_BISECTIONS = 40


def as_pixels(images: NDArray[np.uint8]) -> Floats:
    """uint8 images as pixels in [0, 1]."""
    return images.astype(np.float32) / np.float32(255)


def as_levels(pixels: Floats) -> NDArray[np.uint8]:
    """Pixels in [0, 1] as images of 256 grey levels."""
    return np.round(pixels * 255).astype(np.uint8)


def l2(first: Floats, second: Floats) -> NDArray[np.float64]:
    """Euclidean distance of each pair of images, float64 ``(N,)``."""
    difference = (first.astype(np.float64) - second).reshape(len(first), -1)
    distance: NDArray[np.float64] = np.sqrt((difference**2).sum(axis=1))
    return distance


def linf(first: Floats, second: Floats) -> NDArray[np.float64]:
    """Greatest change of one pixel between each pair of images, float64 ``(N,)``."""
    change = np.abs(first - second).reshape(len(first), -1)
    largest: NDArray[np.float64] = change.max(axis=1).astype(np.float64)
    return largest


def noise_of_length(
    images: Floats, lengths: NDArray[np.float64], sources: Ints, seed: int
) -> Floats:
    """Images changed at random, each by a given L2 distance that holds after clipping to [0, 1].

    Args:
        images: float32 ``(N, H, W, C)``, pixels in [0, 1].
        lengths: float ``(N,)``; one that clipping cannot reach becomes the longest that it can.
        sources: int64 ``(N,)``, names of the images' random streams.
        seed: root of the random streams.
    """
    directions = np.stack(
        [direction(seed, "control", s, image) for image, s in zip(images, sources, strict=True)]
    )
    low, high = np.zeros(len(images)), np.full(len(images), 1e3)

    def moved(scale: NDArray[np.float64]) -> Floats:
        step = scale[:, None, None, None].astype(np.float32) * directions
        return np.clip(images + step, 0, 1)

    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        short = l2(moved(middle), images) < lengths
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return moved(high)


def direction(seed: int, purpose: str, source: int, image: Floats) -> Floats:
    """Gaussian noise of standard deviation 1, of the image's shape.

    Args:
        seed: root of the random streams.
        purpose: what it is for; together with the source it names the stream.
        source: position of the image among the test inputs.
        image: the image.
    """
    rng = stream(seed, "attack", purpose, int(source))
    return rng.standard_normal(image.shape, np.float32)
