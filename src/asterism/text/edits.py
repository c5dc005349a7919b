"""Edits of tokens and bytes, and of letters: change of case, and look-alikes in UTF-8."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.random_streams import Draws, Randomness
from asterism.text import (
    TEXT_MUTATORS,
    Alphabet,
    EditMutator,
    Rows,
    Sequences,
    TextMutator,
    delete_symbols,
    has_room,
    insert_symbols,
    replace_symbols,
)


@TEXT_MUTATORS.register("insert")
@dataclass(frozen=True)
class InsertSymbols(EditMutator):
    """Inserts random symbols, each before one that may be changed; in a full row it replaces."""

    def edit(
        self, sequences: Sequences, places: Rows, symbols: NDArray[np.float64], alphabet: Alphabet
    ) -> Sequences:
        """See :meth:`EditMutator.edit`."""
        drawn = alphabet.drawn(symbols)
        room = has_room(sequences, alphabet)
        longer = insert_symbols(sequences, places, drawn)
        longer[~room] = replace_symbols(sequences[~room], places[~room], drawn[~room])
        return longer


@TEXT_MUTATORS.register("delete")
@dataclass(frozen=True)
class DeleteSymbols(EditMutator):
    """Removes symbols; a row keeps at least one that may be changed."""

    def candidates(self, sequences: Sequences, alphabet: Alphabet) -> NDArray[np.bool_]:
        """See :meth:`EditMutator.candidates`."""
        editable = alphabet.editable(sequences)
        editable[np.count_nonzero(editable, axis=1) < 2] = False
        return editable

    def edit(
        self, sequences: Sequences, places: Rows, symbols: NDArray[np.float64], alphabet: Alphabet
    ) -> Sequences:
        """See :meth:`EditMutator.edit`."""
        return delete_symbols(sequences, places, alphabet.padding)


@TEXT_MUTATORS.register("swap")
@dataclass(frozen=True)
class SwapSymbols(EditMutator):
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
        """See :meth:`EditMutator.edit`."""
        rows = np.arange(len(sequences))
        first = sequences[rows, places]
        sequences[rows, places] = sequences[rows, places + 1]
        sequences[rows, places + 1] = first
        return sequences


@TEXT_MUTATORS.register("replace")
@dataclass(frozen=True)
class ReplaceSymbols(EditMutator):
    """Puts random symbols in the place of others."""

    def edit(
        self, sequences: Sequences, places: Rows, symbols: NDArray[np.float64], alphabet: Alphabet
    ) -> Sequences:
        """See :meth:`EditMutator.edit`."""
        return replace_symbols(sequences, places, alphabet.drawn(symbols))


@TEXT_MUTATORS.register("repeat")
@dataclass(frozen=True)
class RepeatSymbols(EditMutator):
    """Writes symbols twice; a row that is full stays as it is."""

    def candidates(self, sequences: Sequences, alphabet: Alphabet) -> NDArray[np.bool_]:
        """See :meth:`EditMutator.candidates`."""
        return alphabet.editable(sequences) & has_room(sequences, alphabet)[:, np.newaxis]

    def edit(
        self, sequences: Sequences, places: Rows, symbols: NDArray[np.float64], alphabet: Alphabet
    ) -> Sequences:
        """See :meth:`EditMutator.edit`."""
        return insert_symbols(sequences, places, sequences[np.arange(len(sequences)), places])


@TEXT_MUTATORS.register("truncate")
@dataclass(frozen=True)
class TruncateSequence(TextMutator):
    """Cuts the end of a row off; protected symbols and at least one other stay.

    Attributes:
        low: smallest share of the symbols that is cut off, at least 0.
        high: largest share, below 1.
    """

    low: float = 0.0
    high: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
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


#: Letters of other scripts that look like ASCII ones in most fonts: Cyrillic, Greek, Armenian.
LOOK_ALIKES = {
    "A": "\u0410\u0391", "B": "\u0412\u0392", "C": "\u0421", "E": "\u0415\u0395",
    "H": "\u041d\u0397", "I": "\u0406\u0399", "J": "\u0408", "K": "\u041a\u039a",
    "M": "\u041c\u039c", "N": "\u039d", "O": "\u041e\u039f", "P": "\u0420\u03a1",
    "S": "\u0405", "T": "\u0422\u03a4", "X": "\u0425\u03a7", "Y": "\u04ae\u03a5", "Z": "\u0396",
    "a": "\u0430", "c": "\u0441", "d": "\u0501", "e": "\u0435", "h": "\u04bb", "i": "\u0456",
    "j": "\u0458", "n": "\u0578", "o": "\u043e\u03bf", "p": "\u0440", "q": "\u051b",
    "s": "\u0455", "u": "\u057d", "v": "\u03bd", "w": "\u051d", "x": "\u0445", "y": "\u0443",
}  # fmt: skip


@TEXT_MUTATORS.register("change_case")
@dataclass(frozen=True)
class ChangeCase(EditMutator):
    """Makes ASCII letters small that are large, and large that are small."""

    of_bytes: ClassVar[bool] = True

    def candidates(self, sequences: Sequences, alphabet: Alphabet) -> NDArray[np.bool_]:
        """The letters."""
        small = sequences | 0x20
        letters: NDArray[np.bool_] = (small >= ord("a")) & (small <= ord("z"))
        return letters & alphabet.editable(sequences)

    def edit(
        self, sequences: Sequences, places: Rows, symbols: NDArray[np.float64], alphabet: Alphabet
    ) -> Sequences:
        """See :meth:`EditMutator.edit`."""
        sequences[np.arange(len(sequences)), places] ^= 0x20
        return sequences


@TEXT_MUTATORS.register("look_alike")
@dataclass(frozen=True)
class LookAlike(EditMutator):
    """Puts two bytes of UTF-8 in the place of an ASCII letter that they look like."""

    of_bytes: ClassVar[bool] = True

    def candidates(self, sequences: Sequences, alphabet: Alphabet) -> NDArray[np.bool_]:
        """The letters that have look-alikes, in rows with room for a byte more."""
        counts, _ = _table()
        known = counts[np.minimum(sequences, 255)] > 0
        room = has_room(sequences, alphabet)[:, np.newaxis]
        return known & alphabet.editable(sequences) & room & (sequences < 256)

    def edit(
        self, sequences: Sequences, places: Rows, symbols: NDArray[np.float64], alphabet: Alphabet
    ) -> Sequences:
        """See :meth:`EditMutator.edit`."""
        counts, pairs = _table()
        letters = sequences[np.arange(len(sequences)), places].astype(np.int64)
        alike = pairs[letters, (symbols * counts[letters]).astype(np.int64)]
        longer = insert_symbols(sequences, places, alike[:, 0])
        return replace_symbols(longer, places + 1, alike[:, 1])


@cache
def _table() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many look-alikes each byte has, ``(256,)``, and their two bytes, ``(256, most, 2)``."""
    most = max(map(len, LOOK_ALIKES.values()))
    counts, pairs = np.zeros(256, np.int64), np.zeros((256, most, 2), np.int64)
    for letter, alike in LOOK_ALIKES.items():
        counts[ord(letter)] = len(alike)
        for number, character in enumerate(alike):
            pairs[ord(letter), number] = list(character.encode())
    return counts, pairs
