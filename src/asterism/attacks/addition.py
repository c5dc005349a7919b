"""An input set that is added to a test set, and which inputs the test set is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.attack import Floats, Ints, Victims
from asterism.attacks.noise import l2, linf
from asterism.core.artifacts import read_arrays, write_arrays
from asterism.core.errors import UserError
from asterism.core.streams import stream


def as_pixels(images: NDArray[np.uint8]) -> Floats:
    """uint8 images as pixels in [0, 1]."""
    return images.astype(np.float32) / np.float32(255)


@dataclass(frozen=True)
class Split:
    """The test inputs, parted into the test set to be judged and a pool of other clean inputs.

    Attributes:
        base: int64 positions of the test set.
        pool: int64 positions of the rest, from which controls are drawn.
    """

    base: Ints
    pool: Ints

    @classmethod
    def draw(cls, count: int, share: float, seed: int) -> Self:
        """Part ``count`` inputs at random."""
        order = stream(seed, "attack", "split").permutation(count)
        cut = round(count * share)
        if not 0 < cut < count:
            raise UserError(f"attack.base_share={share} leaves no inputs on one side of {count}")
        return cls(np.sort(order[:cut]), np.sort(order[cut:]))


@dataclass(frozen=True)
class Addition:
    """One input set that is added to the test set.

    Attributes:
        images: float32 ``(N, H, W, C)``, pixels in [0, 1], not rounded to grey levels.
        sources: int64 ``(N,)``, test inputs that the images were made from; -1 for none.
        l2: float64 ``(N,)``, distance to the source; 0 without one.
        linf: float64 ``(N,)``, the same in the greatest change of one pixel.
        positions: int64 ``(N,)``, test inputs that the images are; -1 for none.
        success: bool ``(N,)``, whether the model handles it wrongly.
        success_rounded: bool ``(N,)``, whether it still does after rounding to 256 grey levels.
    """

    images: Floats
    sources: Ints
    positions: Ints
    l2: NDArray[np.float64]
    linf: NDArray[np.float64]
    success: NDArray[np.bool_]
    success_rounded: NDArray[np.bool_]

    @classmethod
    def changed(
        cls,
        images: Floats,
        victims: Victims,
        success: NDArray[np.bool_],
        success_rounded: NDArray[np.bool_],
    ) -> Self:
        """Images that an attack made from its victims."""
        return cls(
            images=images,
            sources=victims.sources,
            positions=np.full(len(images), -1),
            l2=l2(images, victims.images),
            linf=linf(images, victims.images),
            success=success,
            success_rounded=success_rounded,
        )

    @classmethod
    def natural(
        cls,
        images: Floats,
        positions: Ints | None = None,
        wrong: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Images that were not made from test inputs by changes.

        Args:
            images: pixels in [0, 1].
            positions: test inputs that they are; None for images from elsewhere.
            wrong: which of them the model mishandles; None where there is nothing to miss.
        """
        count = len(images)
        none, nothing = np.full(count, -1), np.zeros(count)
        wrong = np.zeros(count, np.bool_) if wrong is None else wrong
        positions = none if positions is None else positions
        return cls(images, none, positions, nothing, nothing, wrong, wrong)

    def summary(self) -> dict[str, float]:
        """Numbers for the metrics."""
        return {
            "inputs": len(self.images),
            "success": float(self.success.mean()),
            "success_rounded": float(self.success_rounded.mean()),
            "l2_mean": float(self.l2.mean()),
            "linf_mean": float(self.linf.mean()),
        }

    def per_input(self) -> dict[str, NDArray[Any]]:
        """Source, distances and success of each image."""
        return {name: array for name, array in vars(self).items() if name != "images"}

    def save(self, path: Path) -> None:
        """Write an ``.npz``."""
        write_arrays(path, **vars(self))

    @classmethod
    def load(cls, path: Path) -> Self:
        """What :meth:`save` wrote."""
        return cls(**read_arrays(path))


def prefixed(facts: Mapping[str, Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Arrays of several input sets in one: each as ``<set>_<fact>``."""
    return {
        f"{name}_{fact}": array for name, arrays in facts.items() for fact, array in arrays.items()
    }
