"""Edit distance between sequences (Levenshtein, 1966), for many pairs at once, and edit scripts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.text.alphabet import Lengths, Sequences

#: Larger than any distance.
_FAR = np.int32(1 << 28)
#: Distances up to which the first, narrowest computation goes.
_NARROW = 8


def edit_distances(
    first: Sequences,
    second: Sequences,
    first_lengths: Lengths,
    second_lengths: Lengths,
    at_most: int | None = None,
) -> NDArray[np.int64]:
    """Insertions, deletions and replacements that lead from each row to its partner.

    Only cells near the diagonal are computed, in a band that is doubled for the rows whose
    distance does not fit into it (Ukkonen, 1985).

    Args:
        first: ``(N, T)``.
        second: ``(N, T)``.
        first_lengths: symbols of each row of ``first``.
        second_lengths: symbols of each row of ``second``.
        at_most: distances above this one need not be told apart; None: all are.

    Returns:
        int64 ``(N,)``; where a distance is above ``at_most``, ``at_most + 1``.
    """
    longest = int(max(first_lengths.max(initial=0), second_lengths.max(initial=0)))
    limit = longest if at_most is None else min(at_most, longest)
    distances = np.full(len(first), limit + 1, np.int64)
    left, band = np.arange(len(first)), min(_NARROW, limit)
    while len(left):
        found = _within_band(
            first[left], second[left], first_lengths[left], second_lengths[left], band
        )
        done = found <= band
        distances[left[done]] = found[done]
        left = left[~done]
        if band >= limit:
            break
        band = min(2 * band, limit)
    return distances


def _within_band(
    first: Sequences, second: Sequences, lengths: Lengths, others: Lengths, band: int
) -> NDArray[np.int32]:
    """The distances, exact where they are at most ``band``, above it elsewhere, int32 ``(n,)``.

    Row i of the table is kept for columns i - band to i + band.
    """
    rows, width = len(first), 2 * band + 1
    offsets = np.arange(width, dtype=np.int32)
    table = np.broadcast_to(
        np.where(offsets >= band, offsets - band, _FAR).astype(np.int32), (rows, width)
    ).copy()
    result = np.where(
        (lengths == 0) & (others <= band), np.minimum(others, _FAR).astype(np.int32), _FAR
    ).astype(np.int32)
    padded = np.pad(second.astype(np.int64), ((0, 0), (band + 1, band + 1)), constant_values=-1)
    ends = others - lengths + band  # where in the band a row's last cell lies
    reachable = (ends >= 0) & (ends < width)
    steps = int(lengths.max(initial=0))
    at_end = np.where(reachable, ends, 0)
    each = np.arange(rows)
    for step in range(1, steps + 1):
        window = padded[:, step : step + width]  # symbols step - band - 1 to step + band - 1
        differs = window != first[:, step - 1, np.newaxis]
        replaced = table + differs
        replaced[:, :-1] = np.minimum(replaced[:, :-1], table[:, 1:] + 1)
        columns = offsets + (step - band)
        replaced[:, columns < 0] = _FAR
        if step <= band:
            replaced[:, band - step] = step
        # An insertion costs 1 and goes to the right: a running minimum along the row.
        table = np.minimum.accumulate(replaced - offsets, axis=1) + offsets
        table[:, columns < 0] = _FAR
        ended = np.flatnonzero((lengths == step) & reachable)
        result[ended] = table[each[ended], at_end[ended]]
    return result


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
    same = _common_prefix(item, reference)
    item, reference = item[same:], reference[same:]
    end = _common_prefix(item[::-1], reference[::-1])
    item, reference = item[: len(item) - end], reference[: len(reference) - end]
    table = _table(item, reference)
    script: list[Edit] = []
    i, j = len(reference), len(item)
    while i or j:
        here = table[i, j]
        if i and j and table[i - 1, j - 1] + (reference[i - 1] != item[j - 1]) == here:
            i, j = i - 1, j - 1
            if reference[i] != item[j]:
                script.append(Edit(same + i, int(item[j]), False))
        elif i and table[i - 1, j] + 1 == here:
            i -= 1
            script.append(Edit(same + i, None, False))
        else:
            j -= 1
            script.append(Edit(same + i, int(item[j]), True))
    return script[::-1]


def edited(reference: NDArray[np.int64], script: list[Edit]) -> NDArray[np.int64]:
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


def _table(item: NDArray[np.int64], reference: NDArray[np.int64]) -> NDArray[np.int32]:
    """Distances of all beginnings, int32 ``(r + 1, t + 1)``."""
    columns = np.arange(len(item) + 1, dtype=np.int32)
    table = np.empty((len(reference) + 1, len(item) + 1), np.int32)
    table[0] = columns
    for row, symbol in enumerate(reference, 1):
        above = table[row - 1]
        table[row] = above + 1
        table[row, 1:] = np.minimum(table[row, 1:], above[:-1] + (item != symbol))
        table[row] = np.minimum.accumulate(table[row] - columns) + columns
    return table


def _common_prefix(first: NDArray[np.int64], second: NDArray[np.int64]) -> int:
    length = min(len(first), len(second))
    different = np.flatnonzero(first[:length] != second[:length])
    return int(different[0]) if len(different) else length
