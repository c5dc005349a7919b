"""Seeded random streams, one for each thing that draws.

A draw depends on the run's seed and on the *name* of what is being drawn (stage, shard-free
item, purpose), never on the order in which items are handled. So an item's result is the same
alone, in a batch of 500 or in another shard.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np
from numpy.typing import NDArray


def stream(seed: int, *path: str | int) -> np.random.Generator:
    """The random generator of one item.

    Args:
        seed: the run's seed, at least 0.
        path: names that lead to the item: ``stream(seed, "trigger", "seed", 17)``.

    Returns:
        A PCG64 generator; equal arguments give equal streams in every process, different
        paths give independent ones.
    """
    return np.random.default_rng(_seed_sequence(seed, path))


def first_word(seed: int, *path: str | int) -> int:
    """The first 64 bits that :func:`stream` would draw, for keys of counter-based streams."""
    word: int = np.random.PCG64(_seed_sequence(seed, path)).random_raw()
    return word


def spawn_integer(seed: int, *path: str | int) -> int:
    """A 31-bit integer for libraries that want a plain seed, named as in :func:`stream`."""
    return int(_seed_sequence(seed, path).generate_state(1)[0]) >> 1


def mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection of 64-bit integers that spreads every bit; overwrites its argument.

    It is SplitMix64's output function (Steele, Lea and Flood, OOPSLA 2014).
    """
    shifted = words >> np.uint64(30)
    words ^= shifted
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= np.right_shift(words, np.uint64(27), out=shifted)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= np.right_shift(words, np.uint64(31), out=shifted)
    return words


def _seed_sequence(seed: int, path: tuple[str | int, ...]) -> np.random.SeedSequence:
    digest = hashlib.sha256("\x00".join(f"{type(p).__name__}:{p}" for p in path).encode()).digest()
    return np.random.SeedSequence(seed, spawn_key=struct.unpack_from("<4I", digest))
