"""Tokens and bytes as integers ``(N, T)`` with padding at the end: mutators and edit distances.

Here is what a mutator of sequences is, and the single edits that all are made of. Draws are numbers
from [0, 1): which place of a row one means depends on the row's length, so it is found when the
draws are applied. A row's mutant depends on this row and its draws alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import configure_each
from asterism.core.parameters.registry import Registry
from asterism.core.random_streams import Draws, Randomness, Ranged

Rows = NDArray[np.int64]

Sequences = NDArray[Any]
Lengths = NDArray[np.int64]


class TextMutator(Ranged, ABC):
    """Turns sequences into mutants of the same shape and dtype, with the padding at the end."""

    #: Whether the symbols have to be bytes.
    of_bytes: ClassVar[bool] = False

    @abstractmethod
    def draw(self, rng: Randomness, shape: tuple[int, int]) -> Draws:
        """Everything random about mutating a batch of this shape ``(N, T)``."""

    @abstractmethod
    def apply(self, sequences: Sequences, draws: Draws, alphabet: Alphabet) -> Sequences:
        """Mutants of ``sequences`` (integers ``(N, T)``), never in place."""


TEXT_MUTATORS: Registry[type[TextMutator]] = Registry("text mutator", "asterism.text")


def build_text_mutators(
    ranges: Mapping[str, Mapping[str, Any]], of_bytes: bool = True
) -> dict[str, TextMutator]:
    """Mutators from configuration.

    Args:
        ranges: for each mutator's name the fields that differ from its own ranges.
        of_bytes: whether the symbols are bytes.

    Raises:
        UserError: an unknown mutator or field, an impossible range, or a mutator of bytes where
            the symbols are tokens.
    """
    known = {name for name in TEXT_MUTATORS if of_bytes or not TEXT_MUTATORS[name].of_bytes}
    for name in ranges:
        if name in TEXT_MUTATORS and name not in known:
            raise UserError(
                f"the text mutator {name} changes bytes, and these symbols are tokens "
                f"(for tokens: {', '.join(sorted(known))})"
            )
    return configure_each(TEXT_MUTATORS, ranges)


@dataclass(frozen=True)
class EditMutator(TextMutator):
    """A mutator that makes one kind of edit a few times.

    Attributes:
        low: smallest number of edits, at least 1.
        high: largest number of edits, at most 100.
    """

    low: int = 1
    high: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.low <= self.high <= 100:
            raise ValueError(f"edits must lie in 1 to 100, not {self.low} to {self.high}")

    def draw(self, rng: Randomness, shape: tuple[int, int]) -> Draws:
        """``count``: int64 ``(N,)``; ``places`` and ``symbols``: float64 ``(N, high)``."""
        rows = shape[0]
        return {
            "count": rng.integers(self.low, self.high, size=rows, endpoint=True),
            "places": rng.uniform(0, 1, size=(rows, self.high)),
            "symbols": rng.uniform(0, 1, size=(rows, self.high)),
        }

    def apply(self, sequences: Sequences, draws: Draws, alphabet: Alphabet) -> Sequences:
        """See :meth:`TextMutator.apply`."""
        mutants = sequences.copy()
        for edit in range(self.high):
            rows = np.flatnonzero(draws["count"] > edit)
            rows, places = choose_places(
                self.candidates(mutants, alphabet), draws["places"][:, edit], rows
            )
            if len(rows):
                symbols = draws["symbols"][rows, edit]
                mutants[rows] = self.edit(mutants[rows], places, symbols, alphabet)
        return mutants

    def candidates(self, sequences: Sequences, alphabet: Alphabet) -> NDArray[np.bool_]:
        """The places that can be edited, bool ``(N, T)``."""
        return alphabet.editable(sequences)

    @abstractmethod
    def edit(
        self,
        sequences: Sequences,
        places: Rows,
        symbols: NDArray[np.float64],
        alphabet: Alphabet,
    ) -> Sequences:
        """The rows ``(n, T)``, which may be overwritten, with one edit at its place each.

        Args:
            sequences: the rows.
            places: where each is edited, int64 ``(n,)``.
            symbols: a random number for each from [0, 1), for what is drawn but the place.
            alphabet: the symbols.
        """


def choose_places(
    candidates: NDArray[np.bool_], chances: NDArray[np.float64], rows: Rows
) -> tuple[Rows, Rows]:
    """One of its candidates for each of the rows that have any.

    Args:
        candidates: bool ``(N, T)``.
        chances: a number from [0, 1) for each row, float64 ``(N,)``.
        rows: the rows that matter, int64.

    Returns:
        Those of the rows that have a candidate, and the place that was chosen in each.
    """
    counts = np.count_nonzero(candidates[rows], axis=1)
    rows, counts = rows[counts > 0], counts[counts > 0]
    wanted = (chances[rows] * counts).astype(np.int64) + 1
    passed = candidates[rows].cumsum(axis=1, dtype=np.int32) >= wanted[:, np.newaxis]
    return rows, passed.argmax(axis=1)


def insert_symbols(sequences: Sequences, places: Rows, symbols: NDArray[np.int64]) -> Sequences:
    """Each row with one symbol more before its place; its last symbol, padding, is lost."""
    columns = np.arange(sequences.shape[1])
    at = places[:, np.newaxis]
    longer = np.take_along_axis(sequences, columns - (columns > at), axis=1)
    longer[np.arange(len(longer)), places] = symbols
    return longer


def delete_symbols(sequences: Sequences, places: Rows, padding: int) -> Sequences:
    """Each row without the symbol at its place, and with padding more at the end."""
    columns = np.arange(sequences.shape[1])
    last = sequences.shape[1] - 1
    later = columns + (columns >= places[:, np.newaxis])
    shorter = np.take_along_axis(sequences, np.minimum(later, last), axis=1)
    shorter[:, last] = padding
    return shorter


def replace_symbols(sequences: Sequences, places: Rows, symbols: NDArray[np.int64]) -> Sequences:
    """Each row with another symbol at its place; overwrites its argument."""
    sequences[np.arange(len(sequences)), places] = symbols
    return sequences


def has_room(sequences: Sequences, alphabet: Alphabet) -> NDArray[np.bool_]:
    """Which rows can take a symbol more, bool ``(N,)``."""
    fits: NDArray[np.bool_] = alphabet.lengths(sequences) < sequences.shape[1]
    return fits


class Alphabet:
    """Symbols 0 to ``size - 1``.

    Args:
        size: how many there are.
        padding: the symbol that fills a row after its end; it may lie outside of the others.
        protected: symbols that no mutator changes, moves, removes or inserts, such as the ones
            that begin and end a sentence.
    """

    def __init__(self, size: int, padding: int, protected: Sequence[int] = ()) -> None:
        self.size = size
        self.padding = padding
        left_alone = {padding, *protected}
        #: The symbols that can be inserted, ascending, int64.
        self.free = np.array([s for s in range(size) if s not in left_alone], np.int64)
        self._fixed = np.array(sorted(left_alone), np.int64)

    def lengths(self, sequences: Sequences) -> Lengths:
        """Symbols of each row before the padding at its end, int64 ``(N,)``."""
        filled = sequences != self.padding
        last: Lengths = sequences.shape[1] - filled[:, ::-1].argmax(axis=1)
        return np.where(filled.any(axis=1), last, 0)

    def editable(self, sequences: Sequences) -> NDArray[np.bool_]:
        """Which symbols may be changed: neither padding nor protected, bool ``(N, T)``."""
        editable: NDArray[np.bool_] = sequences != self._fixed[0]
        for symbol in self._fixed[1:]:
            editable &= sequences != symbol
        return editable

    def drawn(self, chances: NDArray[np.float64]) -> NDArray[np.int64]:
        """A free symbol for each number from [0, 1)."""
        drawn: NDArray[np.int64] = self.free[(chances * len(self.free)).astype(np.int64)]
        return drawn
