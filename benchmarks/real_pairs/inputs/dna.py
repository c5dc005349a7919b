"""DNA that looks like a gene: random letters with splice sites at the distances of exons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asterism.data.given import ArrayInputs
from real_pairs.inputs import INPUT_MAKERS, Find

#: The ends of introns as they mostly are (Shapiro and Senapathy, 1987): the donor site, and what
#: stands before an acceptor, a run of pyrimidines.
_DONOR, _ACCEPTOR, _PYRIMIDINES = "CAGGTAAGT", "CAGG", 16


@INPUT_MAKERS.register("dna")
def dna(count: int, rng: np.random.Generator, find: Find, *, length: int) -> ArrayInputs:
    """Random letters (0 to 3: A, C, G, T) with exons of 80 to 250 and introns of 300 to 2000.

    An exon lies in the middle.

    Inputs are int32 ``(N, length)``.

    Args:
        length: letters of a sequence.
    """
    return ArrayInputs(np.stack([_sequence(length, rng) for _ in range(count)]))


def _sequence(length: int, rng: np.random.Generator) -> NDArray[np.int32]:
    letters = rng.integers(0, 4, length).astype(np.int32)
    middle = length // 2
    start, end = middle - int(rng.integers(40, 95)), middle + int(rng.integers(40, 95))
    _write_exon(letters, start, end, rng)
    place = end
    while (place := place + int(rng.integers(300, 2000))) < length - 300:  # exons behind it
        end = place + int(rng.integers(80, 250))
        _write_exon(letters, place, end, rng)
        place = end
    place = start
    while (place := place - int(rng.integers(300, 2000))) > 300:  # and before it
        start = place - int(rng.integers(80, 250))
        _write_exon(letters, start, place, rng)
        place = start
    return letters


def _write_exon(letters: NDArray[np.int32], start: int, end: int, rng: np.random.Generator) -> None:
    """Write the sites at an exon's ends: the acceptor before it, the donor behind it."""
    run = "".join(rng.choice(["C", "T"], _PYRIMIDINES, p=[0.4, 0.6]))
    for place, text in ((start - len(run) - 3, run + _ACCEPTOR), (end - 3, _DONOR)):
        letters[place : place + len(text)] = ["ACGT".index(letter) for letter in text]
