"""Attacked and other inputs that are added to a test set; and the split of the test inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.methods import AttackSeeds, Floats, Ints, l2, linf
from asterism.core.files.artifacts import read_arrays, write_arrays
from asterism.core.messages.errors import UserError, reading
from asterism.core.random_streams import stream


@dataclass(frozen=True)
class ImageSet:
    """Images, and how each came out.

    Attributes:
        images: ``(N, H, W, C)``.
        sources: int64 ``(N,)``, positions of the originals among the test inputs; -1 for none.
        l2: float64 ``(N,)``, distance to the original, of pixels in [0, 1]; 0 without one.
        linf: float64 ``(N,)``, the same in the greatest change of one pixel.
        success: bool ``(N,)``, whether the model handles it wrongly; False where nobody knows.
    """

    images: NDArray[Any]
    sources: Ints
    l2: NDArray[np.float64]
    linf: NDArray[np.float64]
    success: NDArray[np.bool_]

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Which of them were made by changing an original."""
        return self.sources >= 0

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Which of them have a right answer that is known."""
        return self.changed

    def summary(self) -> dict[str, Any]:
        """Numbers for the metrics, each over the images that have it; None where none has."""
        return {
            "success": mean_or_none(self.success[self.judged]),
            "l2_mean": mean_or_none(self.l2[self.changed]),
            "linf_mean": mean_or_none(self.linf[self.changed]),
        }

    def per_input(self) -> dict[str, NDArray[Any]]:
        """What is known of each image."""
        return {name: array for name, array in vars(self).items() if name != "images"}


def mean_or_none(values: NDArray[Any]) -> float | None:
    """The mean, None of no values."""
    return float(values.mean()) if len(values) else None


def prefix_facts(facts: Mapping[str, Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Arrays of several input sets in one: each as ``<set>_<fact>``."""
    return {
        f"{name}_{fact}": array for name, arrays in facts.items() for fact, array in arrays.items()
    }


@dataclass(frozen=True)
class InputSplit:
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

    @classmethod
    def load(cls, path: Path, count: int) -> Self:
        """The split of a test set that the stage ``attack`` has written.

        Args:
            path: the file.
            count: inputs of the test set.

        Raises:
            UserError: it is damaged, or the split of another test set.
        """
        with reading(f"the split {path}"):
            split = cls(**read_arrays(path))
        parted = len(split.base) + len(split.pool)
        if parted != count:
            raise UserError(
                f"{path} divides {parted} test inputs, but the data have {count}: it was made for "
                "other data; `dvc repro attack` makes the one that belongs to these"
            )
        return split


@dataclass(frozen=True)
class AugmentationSet(ImageSet):
    """One input set that is added to the test set.

    Attributes:
        images: float32 ``(N, H, W, C)``, pixels in [0, 1], not rounded to grey levels.
        positions: int64 ``(N,)``, test inputs that the images are; -1 for none.
        success_rounded: bool ``(N,)``, whether the model still handles it wrongly after rounding
            to 256 grey levels.
    """

    images: Floats
    positions: Ints
    success_rounded: NDArray[np.bool_]

    @classmethod
    def attacked(
        cls,
        images: Floats,
        victims: AttackSeeds,
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
    def natural(cls, images: Floats, positions: Ints | None = None) -> Self:
        """Images that were not made from test inputs by changes; none counts as mishandled.

        Args:
            images: pixels in [0, 1].
            positions: test inputs that they are; None for images from elsewhere.
        """
        count = len(images)
        none, nothing, right = np.full(count, -1), np.zeros(count), np.zeros(count, np.bool_)
        return cls(
            images=images,
            sources=none,
            positions=none if positions is None else positions,
            l2=nothing,
            linf=nothing,
            success=right,
            success_rounded=right,
        )

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Images from elsewhere have classes that nobody knows."""
        return self.changed | (self.positions >= 0)

    def summary(self) -> dict[str, Any]:
        """See :meth:`ImageSet.summary`."""
        rounded = mean_or_none(self.success_rounded[self.judged])
        return {"inputs": len(self.images), **super().summary(), "success_rounded": rounded}

    def save(self, path: Path) -> None:
        """Write an ``.npz``."""
        write_arrays(path, **vars(self))

    @classmethod
    def load(cls, path: Path) -> Self:
        """What :meth:`save` wrote."""
        with reading(f"the inputs {path}"):
            return cls(**read_arrays(path))
