"""Edit distance between sequences (Levenshtein, 1966), and edit scripts, by RapidFuzz."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from asterism.text import Lengths, Sequences

#: Symbols from 0 to this one have a character of the same number.
_LARGEST_CHARACTER = 0x10FFFF


def edit_distances(
    first: Sequences,
    second: Sequences,
    first_lengths: Lengths,
    second_lengths: Lengths,
    at_most: int | None = None,
) -> NDArray[np.int64]:
    """Insertions, deletions and replacements that lead from each row to its partner.

    Args:
        first: ``(N, T)``.
        second: ``(N, T)``.
        first_lengths: symbols of each row of ``first``.
        second_lengths: symbols of each row of ``second``.
        at_most: distances above this one need not be told apart; None: all are.

    Returns:
        int64 ``(N,)``; where a distance is above ``at_most``, ``at_most + 1``.
    """
    rows = zip(first, second, first_lengths.tolist(), second_lengths.tolist(), strict=True)
    found = (
        Levenshtein.distance(*_texts(one[:length], other[:size]), score_cutoff=at_most)
        for one, other, length, size in rows
    )
    return np.fromiter(found, np.int64, len(first))


@dataclass(frozen=True)
class Edit:
    """One step of an edit script, from the reference to the item.

    Attributes:
        start: place in the reference before which, or at which, something changes.
        symbol: what stands there instead or is inserted; None: the symbol is deleted.
        inserts: whether a symbol is inserted.
    """

    start: int
    symbol: int | None
    inserts: bool


def edit_script(item: NDArray[np.int64], reference: NDArray[np.int64]) -> list[Edit]:
    """The fewest edits that make ``item`` out of ``reference``, in the order of their places.

    Args:
        item: int64 ``(t,)``, without padding.
        reference: int64 ``(r,)``, without padding.
    """
    script = []
    for operation in Levenshtein.editops(*_texts(reference, item)):
        symbol = None if operation.tag == "delete" else int(item[operation.dest_pos])
        script.append(Edit(operation.src_pos, symbol, operation.tag == "insert"))
    return script


def apply_edits(reference: NDArray[np.int64], script: list[Edit]) -> NDArray[np.int64]:
    """The reference after these edits, which are in the order of their places."""
    result: list[int] = []
    place = 0
    for edit in script:
        result += reference[place : edit.start].tolist()
        place = edit.start + (not edit.inserts)
        if edit.symbol is not None:
            result.append(edit.symbol)
    result += reference[place:].tolist()
    return np.array(result, np.int64)


def _texts(one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[str, str]:
    """Two sequences as texts, a character for each symbol, which RapidFuzz compares fastest."""
    both = (one, other)
    least, largest = min(x.min(initial=0) for x in both), max(x.max(initial=0) for x in both)
    if least < 0 or largest > _LARGEST_CHARACTER:
        codes = np.unique(np.concatenate([one, other]), return_inverse=True)[1]
        one, other = codes[: len(one)], codes[len(one) :]
    return _text(one), _text(other)


def _text(symbols: NDArray[np.int64]) -> str:
    return symbols.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
