"""Mutators of bytes that know letters: change of case, and look-alikes in UTF-8."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.text.mutator import (
    TEXT_MUTATORS,
    Alphabet,
    Edits,
    Rows,
    Sequences,
    has_room,
    with_inserted,
    with_replaced,
)

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
class ChangeCase(Edits):
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
        """See :meth:`Edits.edit`."""
        sequences[np.arange(len(sequences)), places] ^= 0x20
        return sequences


@TEXT_MUTATORS.register("look_alike")
@dataclass(frozen=True)
class LookAlike(Edits):
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
        """See :meth:`Edits.edit`."""
        counts, pairs = _table()
        letters = sequences[np.arange(len(sequences)), places].astype(np.int64)
        alike = pairs[letters, (symbols * counts[letters]).astype(np.int64)]
        longer = with_inserted(sequences, places, alike[:, 0])
        return with_replaced(longer, places + 1, alike[:, 1])


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
