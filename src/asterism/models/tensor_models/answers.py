"""The outputs of a model that are compared, as real numbers and as one row for each input."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.signatures.signature import Signature, TensorSpec

Rows = NDArray[np.float32]
Tensors = Mapping[str, NDArray[Any]]
Shape = tuple[int, ...]

#: An output whose number of rows differs from input to input has room for so many times the most
#: rows that were seen, and at least for so many.
_ROOM, _LEAST_ROOM = 4, 100


@dataclass(frozen=True)
class OutputForm:
    """How the compared outputs of a model lie in a row of numbers.

    Attributes:
        shapes: of each compared output of one item, by its name, in the order of the row.
        axes: of each output, the axis that counts the inputs; None where none does.
        room: rows that outputs of a varying number of rows are filled up to, by name.
        moved: of each output whose channels lie elsewhere than in the model that it is compared
            with, the axis that is moved, and where to.
    """

    shapes: dict[str, Shape]
    axes: dict[str, int | None] = field(default_factory=dict)
    room: dict[str, int] = field(default_factory=dict)
    moved: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def rooms(self) -> list[int]:
        """The room of each output in the order of the row, 0 where it has a size of its own."""
        return [self.room.get(name, 0) for name in self.shapes]

    @property
    def width(self) -> int:
        """Numbers in a row; for a classifier its classes."""
        return sum(map(math.prod, self.shapes.values()))


class ComparedOutputs:
    """Takes the compared outputs out of all that a model gives.

    Args:
        signature: the model's.
        names: of the outputs that are compared; None for all of real numbers.
        file: the model's file, for messages.
        form: how they lie, where it is known.

    Attributes:
        axes, room, moved: see :class:`OutputForm`. Until axes are settled each is the first.
        batched: whether each output has an axis that counts the inputs of a call. Where one has
            none, a call may have one input only.

    Raises:
        UserError: the model has no output of a name.
    """

    def __init__(
        self,
        signature: Signature,
        names: list[str] | None,
        file: str,
        form: OutputForm | None = None,
    ) -> None:
        self._file = file
        self._specs = _chosen(signature.answers, names)
        form = form or OutputForm({})
        self.axes, self.room, self.moved = dict(form.axes), dict(form.room), dict(form.moved)
        self.batched = True

    def settle(self, tried: Tensors, count: int, other: Tensors | None, other_count: int) -> None:
        """Find the axis of each output that counts the inputs; of most it is the first.

        Args:
            tried: what the model gives for some inputs.
            count: how many.
            other: the same for another number of inputs; None where that cannot be.
            other_count: that number.
        """
        for spec in self._specs:
            shape = tried[spec.name].shape
            axes = [axis for axis, size in enumerate(shape) if size == count]
            if other is None and len(spec.shape) == len(
                shape
            ):  # the batch is fixed, so is its axis
                axes = [axis for axis in axes if spec.shape[axis] is not None]
            elif other is not None:
                again = other[spec.name].shape
                axes = [a for a in axes if len(again) == len(shape) and again[a] == other_count]
            self.axes[spec.name] = axes[0] if axes else None
        self.batched = None not in self.axes.values()

    def make_room(
        self, run: Callable[[int], Tensors], trials: int, rooms: Sequence[int] | None = None
    ) -> list[str]:
        """Let outputs whose number of rows differs from input to input be of one size.

        Args:
            run: what the model gives for one of the trial items alone.
            trials: how many there are.
            rooms: the size of each output, 0 for as it is; None to find them by the trial items.

        Returns:
            Notes for the reader of results.
        """
        ragged = [spec for spec in self._specs if _may_vary(spec, self.axes[spec.name])]
        if not ragged:
            return []
        if rooms is not None:
            named = {s.name: room for s, room in zip(self._specs, rooms, strict=True) if room}
            self.room = {spec.name: named[spec.name] for spec in ragged if spec.name in named}
            return []
        seen: dict[str, set[int]] = {spec.name: set() for spec in ragged}
        for number in range(trials):
            outputs = run(number)
            for spec in ragged:
                seen[spec.name].add(self._unbatched(outputs[spec.name], spec).shape[1])
        notes = []
        for name, sizes in seen.items():
            if len(sizes) > 1 or sizes == {0}:  # of none it is not known how many there may be
                self.room[name] = max(_LEAST_ROOM, _ROOM * max(sizes))
                notes.append(
                    f"{name} has {min(sizes)} to {max(sizes)} rows on the first inputs; each is "
                    f"filled up with zeros to {self.room[name]}"
                )
        return notes

    def move_channels(self, own: Mapping[str, Shape], wanted: Sequence[Shape]) -> list[str]:
        """Let outputs have the other model's layout, where they have the same axes otherwise.

        Args:
            own: the shape of each output of one item.
            wanted: those of the other model's outputs, in their order.

        Returns:
            Notes for the reader of results.
        """
        for (name, shape), other in zip(own.items(), wanted, strict=False):
            if (move := find_channel_permutation(shape, other)) is not None:
                self.moved[name] = move
        return [f"{name} {own[name]} is compared with its channels moved" for name in self.moved]

    def count(self, outputs: Tensors) -> int:
        """How many inputs outputs are of."""
        return len(self._unbatched(outputs[self._specs[0].name], self._specs[0]))

    def answers(self, outputs: Tensors, count: int) -> dict[str, Rows]:
        """The compared outputs by name, each float32 ``(count, ...)``.

        Raises:
            UserError: an output has no axis of the inputs' number, or too many rows.
        """
        found = {}
        for spec in self._specs:
            value = self._unbatched(outputs[spec.name], spec)
            if len(value) != count:
                raise UserError(
                    f"{self._file}: the output {spec.name} has the shape "
                    f"{outputs[spec.name].shape} for {count} inputs; one of its axes has to be "
                    "the inputs'"
                )
            found[spec.name] = self._filled(value, spec.name)
            if spec.name in self.moved:
                found[spec.name] = np.moveaxis(found[spec.name], *self.moved[spec.name])
        return found

    def rows(self, outputs: Tensors, count: int) -> Rows:
        """The compared outputs, float32 ``(count, K)``; see :meth:`answers`."""
        return join_outputs(self.answers(outputs, count))

    def _unbatched(self, value: NDArray[Any], spec: TensorSpec) -> Rows:
        """An output as real numbers, the axis of the inputs first."""
        real = _as_real(np.asarray(value), spec)
        axis = self.axes.get(spec.name, 0)
        if axis is None or real.ndim == 0:
            return real[np.newaxis]
        return real if axis == 0 else np.moveaxis(real, axis, 0)

    def _filled(self, value: Rows, name: str) -> Rows:
        room = self.room.get(name)
        if room is None:
            return value
        if value.shape[1] > room:
            raise UserError(f"{self._file}: {name} has {value.shape[1]} rows, more than {room}")
        filled = np.zeros((len(value), room, *value.shape[2:]), np.float32)
        filled[:, : value.shape[1]] = value
        return filled


def find_channel_permutation(own: Shape, wanted: Shape) -> tuple[int, int] | None:
    """How channels move, so that an output of one item has the wanted shape; None for not at all.

    Returns:
        The axis that is moved and where to, of an output with an axis of the inputs before.
    """
    if own == wanted or len(own) < 2:  # vectors have no channels
        return None
    if own[1:] + own[:1] == wanted:
        return 1, len(own)
    return (len(own), 1) if own[-1:] + own[:-1] == wanted else None


def join_outputs(answers: Mapping[str, Rows]) -> Rows:
    """Outputs by name as one row for each input, in their order."""
    rows = [value.reshape(len(value), -1) for value in answers.values()]
    return rows[0] if len(rows) == 1 else np.concatenate(rows, axis=1)


def _chosen(answers: tuple[TensorSpec, ...], names: list[str] | None) -> list[TensorSpec]:
    known = {spec.name: spec for spec in answers}
    if names is None:
        real = [spec for spec in answers if np.dtype(spec.dtype).kind == "f" or spec.scale]
        return real or list(answers)
    for name in names:
        if name not in known:
            raise UserError(f"the model has no output {name} (it has {', '.join(known)})")
    return [known[name] for name in names]


def _may_vary(spec: TensorSpec, axis: int | None) -> bool:
    """Whether the number of an output's rows is free, apart from the inputs' number."""
    rest = [size for place, size in enumerate(spec.shape) if place != axis]
    return bool(rest) and rest[0] is None


def _as_real(values: NDArray[Any], spec: TensorSpec) -> Rows:
    """An output as real numbers: what integers stand for, where the file says it."""
    real = np.asarray(values, np.float32)
    if spec.scale and values.dtype.kind in "iu":
        real = (real - np.float32(spec.zero)) * np.float32(spec.scale)
    return real
