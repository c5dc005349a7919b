"""Initial seeds: inputs that the network handles correctly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays, write_arrays
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError, reading
from asterism.core.random_streams import stream

log = get_logger(__name__)


@dataclass(frozen=True)
class SeedInputs:
    """The inputs that fuzzing begins with; attributes are named after images.

    Attributes:
        images: ``(S, ...)``, images uint8 ``(S, H, W, C)``.
        labels: int64 ``(S,)``, true and predicted class alike.
        inputs: int64 ``(S,)``, positions in the set that they come from.
    """

    images: NDArray[Any]
    labels: NDArray[np.int64]
    inputs: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.images)

    def save(self, folder: Path) -> None:
        """Write ``seeds.npz`` into a folder."""
        write_arrays(
            folder / "seeds.npz", images=self.images, labels=self.labels, inputs=self.inputs
        )

    @classmethod
    def load(cls, folder: Path) -> SeedInputs:
        """The seeds that :meth:`save` wrote."""
        with reading(f"the seeds in {folder}"):
            return cls(**read_arrays(folder / "seeds.npz"))


def select_seeds(
    predicted: NDArray[np.int64],
    labels: NDArray[np.int64],
    classes: int,
    per_class: int,
    seed: int,
) -> NDArray[np.int64]:
    """Positions of ``per_class`` correctly classified inputs of each class, drawn at random.

    A class's draw depends on the seed and the class alone. A class with fewer such inputs
    contributes all of them, possibly none, and the log says so.

    Args:
        predicted: int64 ``(N,)``, the network's classes.
        labels: int64 ``(N,)``, the true classes.
        classes: how many classes there are.
        per_class: how many of each class.
        seed: the run's seed.

    Returns:
        int64 ``(S,)``, class after class, in the order in which they were drawn.

    Raises:
        UserError: no input at all is classified correctly.
    """
    chosen = []
    for label in range(classes):
        correct = np.flatnonzero((labels == label) & (predicted == label))
        drawn = stream(seed, "select_seeds", label).permutation(correct)[:per_class]
        if len(drawn) < per_class:
            log.warning(
                "fewer seeds than asked for", label=label, asked=per_class, found=len(drawn)
            )
        chosen.append(drawn)
    seeds = np.concatenate(chosen)
    if not len(seeds):
        raise UserError("the network classifies no test input correctly: there are no seeds")
    return seeds
