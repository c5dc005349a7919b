"""Controls that each augmentation set is compared with: sets of the same size.

The coverage of a union is never lower than that of its parts, so that it rises when something is
added proves nothing. Each augmentation is therefore held against as many other clean inputs, and as
many test inputs changed at random by as much as the augmentation's were (beside natural ones,
which no change made, by as much as noise of ``importance.noise_std`` would change them).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.augmentation import AugmentationSet, InputSplit
from asterism.attacks.methods import as_pixels, draw_noise_of_length
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.random_streams import stream

log = get_logger(__name__)

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ControlledAugmentation:
    """An augmentation and its controls, which are made one draw at a time.

    Attributes:
        added: the augmentation, float32 ``(N, H, W, C)``, pixels in [0, 1].
        images: all test images, uint8.
        clean_draws: for each draw the positions of other clean inputs, disjoint from each other.
        starts: for each draw the positions of the inputs to change, disjoint too.
        lengths: L2 distance by which each is changed, of pixels in [0, 1].
        seed: root of the random streams.
    """

    added: Floats
    images: NDArray[np.uint8]
    clean_draws: list[Ints]
    starts: list[Ints]
    lengths: NDArray[np.float64]
    seed: int

    def clean(self) -> Iterator[NDArray[np.uint8]]:
        """Draw other clean inputs."""
        for positions in self.clean_draws:
            yield self.images[positions]

    def noise(self) -> Iterator[Floats]:
        """Draw test inputs changed at random."""
        for positions in self.starts:
            pixels = as_pixels(self.images[positions])
            yield draw_noise_of_length(pixels, self.lengths, positions, self.seed)


def draw_controls(
    augmentation: AugmentationSet,
    name: str,
    images: NDArray[np.uint8],
    split: InputSplit,
    draws: int,
    noise_std: float,
    seed: int,
) -> ControlledAugmentation:
    """Draw an augmentation's controls.

    Args:
        augmentation: the augmentation.
        name: its name, which names its random streams.
        images: all test images.
        split: the test set and the pool of other clean inputs; those that the augmentation itself
            holds are not drawn.
        draws: wanted number of draws of each control; fewer where inputs do not suffice.
        noise_std: strength of the random changes beside an augmentation that no change made.
        seed: root of the random streams.

    Raises:
        UserError: not even one draw is possible.
    """
    size = len(augmentation.images)
    others = np.setdiff1d(split.pool, augmentation.positions)
    possible = min(len(others), len(split.base)) // size
    if possible < 1:
        raise UserError(
            f"{name} adds {size} inputs, but only {len(others)} clean ones are left for a "
            "control of that size: lower attack.inputs or change attack.base_share"
        )
    if possible < draws:
        log.warning(
            "fewer draws of the controls", augmentation=name, wanted=draws, possible=possible
        )
    draws = min(draws, possible)
    clean = stream(seed, "controls", name, "clean").permutation(others)
    base = stream(seed, "controls", name, "noise").permutation(split.base)
    lengths = augmentation.l2
    if not augmentation.changed.any():
        lengths = np.full(size, noise_std * np.sqrt(augmentation.images[0].size))
    draw = [slice(i * size, (i + 1) * size) for i in range(draws)]
    clean_draws, starts = ([np.sort(order[part]) for part in draw] for order in (clean, base))
    return ControlledAugmentation(augmentation.images, images, clean_draws, starts, lengths, seed)
