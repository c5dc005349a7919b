"""How long a model takes for one input, and how large its file is."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from asterism.core.files.artifacts import write_table
from asterism.dflare.pair import Model
from asterism.vetting.kept_answers import KeptAnswers

#: Runs at least and at most, and seconds after which no further one is made.
_FEWEST, _MOST, _SECONDS = 5, 200, 0.5
#: What counts as slower: by so many milliseconds, and by so large a part.
_NOTICED_MS, _NOTICED = 0.2, 0.1


@dataclass(frozen=True)
class Speed:
    """One file's time and size.

    Attributes:
        file: ``original``, ``compressed`` or ``repaired``.
        bytes: of the file, or of a module's parameters; None where there are none.
        milliseconds: for one input, the median of several runs.
    """

    file: str
    bytes: int | None
    milliseconds: float

    def slower_than(self, other: Speed) -> bool:
        """Whether it takes noticeably longer."""
        least = other.milliseconds * (1 + _NOTICED) + _NOTICED_MS
        return self.milliseconds > least


def write_speeds(speeds: Sequence[Speed], folder: Path) -> None:
    """Write ``speed.csv`` into a folder."""
    import polars as pl

    write_table(folder / "speed.csv", pl.DataFrame([asdict(speed) for speed in speeds]))


def speed_of(file: str, size: int | None, model: Model, items: NDArray[Any]) -> Speed:
    """Time a model on the first of some items; the first run does not count."""
    if isinstance(model, KeptAnswers):
        model = model.model
    model.predict(items[:1])
    taken: list[float] = []
    began = time.perf_counter()
    for run in range(_MOST):
        if run >= _FEWEST and time.perf_counter() - began >= _SECONDS:
            break
        started = time.perf_counter()
        model.predict(items[:1])
        taken.append(time.perf_counter() - started)
    return Speed(file, size, 1e3 * statistics.median(taken))
