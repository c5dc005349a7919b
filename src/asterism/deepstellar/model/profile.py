"""Profiling: the hidden state of every step of every correctly classified training input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.format import write_array_header_1_0
from numpy.typing import NDArray

from asterism.core.files.artifacts import map_array, read_arrays, replacing, write_arrays
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError, reading
from asterism.models.recurrent import RecurrentModel

#: Inputs run at a time; their hidden states are all that is in memory at once.
BATCH = 512


@dataclass(frozen=True)
class Profile:
    """Hidden states of inputs, on disk.

    Attributes:
        states: float32 ``(N, T, H)``, memory-mapped.
        labels: int64 ``(N,)``, true and predicted class alike.
        inputs: int64 ``(N,)``, positions of the inputs in the set that was profiled.
    """

    states: NDArray[np.float32]
    labels: NDArray[np.int64]
    inputs: NDArray[np.int64]

    @classmethod
    def load(cls, folder: Path) -> Profile:
        """The profile that :func:`profile_states` wrote."""
        with reading(f"the profile in {folder}"):
            facts = read_arrays(folder / "inputs.npz")
            return cls(map_array(folder / "states.npy"), facts["labels"], facts["inputs"])


def profile_states(
    model: RecurrentModel,
    given: NDArray[Any],
    labels: NDArray[np.int64],
    folder: Path,
) -> int:
    """Write the hidden states of the correctly classified inputs to ``folder``.

    States go to disk batch by batch, so peak memory does not grow with their number.

    Args:
        model: the network.
        given: inputs ``(N, ...)`` of a kind that the network takes.
        labels: int64 ``(N,)``.
        folder: gets ``states.npy`` and ``inputs.npz``.

    Returns:
        How many inputs were classified correctly.

    Raises:
        UserError: none was.
    """
    kept: list[NDArray[np.int64]] = []
    shape: tuple[int, ...] = ()
    with replacing(folder / "states.npy") as temporary, temporary.open("wb") as file:
        for start, states, correct in _batches(model, given, labels):
            if not kept:
                shape = states.shape[1:]
                _write_header(file, (len(given), *shape))
            file.write(np.ascontiguousarray(states[correct]).data)
            kept.append(start + np.flatnonzero(correct))
        inputs = np.concatenate(kept) if kept else np.empty(0, np.int64)
        if not len(inputs):
            raise UserError(
                "the network classifies no training input correctly: nothing to profile"
            )
        file.seek(0)
        _write_header(file, (len(inputs), *shape))
    write_arrays(folder / "inputs.npz", inputs=inputs, labels=labels[inputs])
    return len(inputs)


def _batches(
    model: RecurrentModel, given: NDArray[Any], labels: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.float32], NDArray[np.bool_]]]:
    with progress(total=len(given), label="profiling", unit="input") as bar:
        for start in range(0, len(given), BATCH):
            probabilities, states = model.run(given[start : start + BATCH])
            correct = probabilities.argmax(axis=1) == labels[start : start + BATCH]
            yield start, states, correct
            bar.update(len(correct))


def _write_header(file: BinaryIO, shape: tuple[int, ...]) -> None:
    """Write an ``.npy`` header; NumPy pads it so that the first axis can change in place."""
    facts = {"descr": "<f4", "fortran_order": False, "shape": shape}
    write_array_header_1_0(file, facts)
