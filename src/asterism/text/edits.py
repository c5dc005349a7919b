"""Edits of tokens and bytes: insert, delete, swap, replace, repeat, truncate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.core.randomness.random_streams import Draws, Randomness, require_range
from asterism.text.mutator import (
    TEXT_MUTATORS,
    Alphabet,
    Edits,
    Rows,
    Sequences,
    TextMutator,
    has_room,
    with_inserted,
    with_replaced,
    without,
)


@TEXT_MUTATORS.register("insert")
@dataclass(frozen=True)
class Insert(Edits):
    """Inserts random symbols, each before one that may be changed; in a full row it replaces."""

    def edit(
        self, sequences: Sequences, places: Rows, symbols: NDArray[np.float64], alphabet: Alphabet
    ) -> Sequences:
        """See :meth:`Edits.edit`."""
        drawn = alphabet.drawn(symbols)
        room = has_room(sequences, alphabet)
        longer = with_inserted(sequences, places, drawn)
        longer[~room] = with_replaced(sequences[~room], places[~room], drawn[~room])
        return longer


@TEXT_MUTATORS.register("delete")
@dataclass(frozen=True)
class Delete(Edits):
    """Removes symbols; a row keeps at least one that may be changed."""

    def candidates(self, sequences: Sequences, alphabet: Alphabet) -> NDArray[np.bool_]:
        """See :meth:`Edits.candidates`."""
        editable = alphabet.editable(sequences)
        editable[np.count_nonzero(editable, axis=1) < 2] = False
        return editable

    def edit(
        self, sequences: Sequences, places: Rows, symbols: NDArray[np.float64], alphabet: Alphabet
    ) -> Sequences:
        """See :meth:`Edits.edit`."""
        return without(sequences, places, alphabet.padding)


@TEXT_MUTATORS.register("swap")
@dataclass(frozen=True)
class Swap(Edits):
    """Exchanges neighbours."""

    def candidates(self, sequences: Sequences, alphabet: Alphabet) -> NDArray[np.bool_]:
        """Places where this symbol and the next may be changed."""
        editable = alphabet.editable(sequences)
        editable[:, :-1] &= editable[:, 1:]
        editable[:, -1] = False
        return editable

    def edit(
        self, sequences: Sequences, places: Rows, symbols: NDArray[np.float64], alphabet: Alphabet
    ) -> Sequences:
        """See :meth:`Edits.edit`."""
        rows = np.arange(len(sequences))
        first = sequences[rows, places]
        sequences[rows, places] = sequences[rows, places + 1]
        sequences[rows, places + 1] = first
        return sequences


@TEXT_MUTATORS.register("replace")
@dataclass(frozen=True)
class Replace(Edits):
    """Puts random symbols in the place of others."""

    def edit(
        self, sequences: Sequences, places: Rows, symbols: NDArray[np.float64], alphabet: Alphabet
    ) -> Sequences:
        """See :meth:`Edits.edit`."""
        return with_replaced(sequences, places, alphabet.drawn(symbols))


@TEXT_MUTATORS.register("repeat")
@dataclass(frozen=True)
class RepeatSymbols(Edits):
    """Writes symbols twice; a row that is full stays as it is."""

    def candidates(self, sequences: Sequences, alphabet: Alphabet) -> NDArray[np.bool_]:
        """See :meth:`Edits.candidates`."""
        return alphabet.editable(sequences) & has_room(sequences, alphabet)[:, np.newaxis]

    def edit(
        self, sequences: Sequences, places: Rows, symbols: NDArray[np.float64], alphabet: Alphabet
    ) -> Sequences:
        """See :meth:`Edits.edit`."""
        return with_inserted(sequences, places, sequences[np.arange(len(sequences)), places])


@TEXT_MUTATORS.register("truncate")
@dataclass(frozen=True)
class Truncate(TextMutator):
    """Cuts the end of a row off; protected symbols and at least one other stay.

    Attributes:
        low: smallest share of the symbols that is cut off, at least 0.
        high: largest share, below 1.
    """

    low: float = 0.0
    high: float = 0.3

    def __post_init__(self) -> None:
        require_range(self, self.low, self.high)
        if self.low < 0 or self.high >= 1:
            raise ValueError(f"shares must lie in [0, 1), not {self.low} to {self.high}")

    def draw(self, rng: Randomness, shape: tuple[int, int]) -> Draws:
        """``share``: float64 ``(N,)``."""
        return {"share": rng.uniform(self.low, self.high, size=shape[0])}

    def apply(self, sequences: Sequences, draws: Draws, alphabet: Alphabet) -> Sequences:
        """See :meth:`TextMutator.apply`."""
        editable = alphabet.editable(sequences)
        counts = np.count_nonzero(editable, axis=1)
        kept = np.maximum(1, counts - np.rint(draws["share"] * counts).astype(np.int64))
        cut = editable & (editable.cumsum(axis=1) > kept[:, np.newaxis])
        order = np.argsort(cut, axis=1, kind="stable")
        mutants = np.take_along_axis(np.where(cut, alphabet.padding, sequences), order, axis=1)
        return mutants.astype(sequences.dtype, copy=False)
