"""Images, their distances from their originals, and whether the model fails on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.attacks.attack import Ints


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
            "success": mean_of(self.success[self.judged]),
            "l2_mean": mean_of(self.l2[self.changed]),
            "linf_mean": mean_of(self.linf[self.changed]),
        }

    def per_input(self) -> dict[str, NDArray[Any]]:
        """What is known of each image."""
        return {name: array for name, array in vars(self).items() if name != "images"}


def mean_of(values: NDArray[Any]) -> float | None:
    """The mean, None of no values."""
    return float(values.mean()) if len(values) else None


def prefixed(facts: Mapping[str, Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Arrays of several input sets in one: each as ``<set>_<fact>``."""
    return {
        f"{name}_{fact}": array for name, arrays in facts.items() for fact, array in arrays.items()
    }
