"""The test set, what is added to it, and controls of the same size.

The coverage of a union is never lower than that of its parts, so that it rises when something is
added proves nothing. Each addition is therefore held against as many other clean inputs, and as
many test inputs changed at random by as much as the addition's were.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.addition import Addition, Split, as_pixels
from asterism.attacks.noise import noise_of_length
from asterism.core.errors import UserError
from asterism.core.streams import stream

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Compared:
    """An addition and its controls, pixels in [0, 1], ``(N, H, W, C)`` each.

    Attributes:
        added: the addition.
        clean: draws of other clean inputs, disjoint from each other.
        perturbed: draws of test inputs changed at random, disjoint in what they start from.
    """

    added: Floats
    clean: list[Floats]
    perturbed: list[Floats]


def compare(
    addition: Addition,
    name: str,
    images: NDArray[np.uint8],
    split: Split,
    draws: int,
    noise_std: float,
    seed: int,
) -> Compared:
    """Draw an addition's controls.

    Args:
        addition: the addition.
        name: its name, which names its random streams.
        images: all test images.
        split: the test set and the pool of other clean inputs.
        draws: wanted number of draws of each control; fewer where inputs do not suffice.
        noise_std: strength of the random changes beside an addition that was not made by changes.
        seed: root of the random streams.

    Raises:
        UserError: not even one draw is possible.
    """
    size = len(addition.images)
    possible = min(len(split.pool), len(split.base)) // size
    if possible < 1:
        raise UserError(
            f"{name} adds {size} inputs, but only {len(split.pool)} clean ones are left for a "
            "control of that size: lower attack.inputs or change attack.base_share"
        )
    draws = min(draws, possible)
    clean = stream(seed, "controls", name, "clean").permutation(split.pool)
    base = stream(seed, "controls", name, "perturbed").permutation(split.base)
    lengths = addition.l2
    if not lengths.any():
        lengths = np.full(size, noise_std * np.sqrt(addition.images[0].size))
    parts = [np.sort(clean[i * size : (i + 1) * size]) for i in range(draws)]
    starts = [np.sort(base[i * size : (i + 1) * size]) for i in range(draws)]
    return Compared(
        addition.images,
        [as_pixels(images[p]) for p in parts],
        [noise_of_length(as_pixels(images[s]), lengths, s, seed) for s in starts],
    )
