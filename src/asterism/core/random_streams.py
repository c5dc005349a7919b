"""Random streams, one for each item, and draws from many streams at once.

A draw depends on the run's seed and on the *name* of what is being drawn (stage, shard-free
item, purpose), never on the order in which items are handled. So an item's result is the same
alone, in a batch of 500 or in another shard.

A :class:`BatchedStreams` answers like one ``numpy.random.Generator`` that draws for a batch, but
every row of what it draws comes from a stream of its own. The streams are counter-based (Salmon et
al., SC 2011): a number is a function of the stream's key and of its place in the stream. So a row
is the same whatever the other rows are, a stream can be entered anywhere, and numbers that were
drawn in vain are drawn again by asking again. The function is SplitMix64's (Steele, Lea and Flood,
OOPSLA 2014), which also derives the keys of streams below streams.
"""

from __future__ import annotations

import hashlib
import math
import struct
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

#: Random numbers of a batch by name, each with the batch as its first axis.
Draws = dict[str, NDArray[Any]]

#: Noise has 16 random bits a value: more than 8-bit pixels can tell apart, at a fifth of the time.
LEVELS = 1 << 16


Words = NDArray[np.uint64]


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


def draw_first_word(seed: int, *path: str | int) -> int:
    """The first 64 bits that :func:`stream` would draw, for keys of counter-based streams."""
    return np.random.PCG64(_seed_sequence(seed, path)).random_raw()


def spawn_integer(seed: int, *path: str | int) -> int:
    """A 31-bit integer for libraries that want a plain seed, named as in :func:`stream`."""
    return int(_seed_sequence(seed, path).generate_state(1)[0]) >> 1


def mix_bits(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
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


def draw_uniform_levels(rng: Randomness, shape: tuple[int, ...]) -> NDArray[np.uint16]:
    """Integers below :data:`LEVELS`, uint16 of this shape, which begins with the batch."""
    count = math.prod(shape[1:])
    bits = rng.integers(0, 1 << 64, size=(shape[0], -(-count // 4)), dtype=np.uint64)
    return bits.view(np.uint16)[:, :count].reshape(shape)


def draw_distinct_integers(rng: Randomness, rows: int, size: int, below: int) -> NDArray[np.int64]:
    """``size`` distinct integers below ``below`` in each row, every order equally likely.

    All integers are put into the order of random words, which carry them in their low bits; of
    that order only the beginning is sorted.

    Args:
        rng: what draws.
        rows: R.
        size: integers of a row, at most ``below``.
        below: one more than the largest.

    Returns:
        int64 ``(R, size)``.
    """
    bits = max(1, (below - 1).bit_length())
    tickets = rng.integers(0, 1 << 64, size=(rows, below), dtype=np.uint64)
    if bits <= 12:  # 20 random bits and more: sorts in a third of the time
        tickets = tickets.astype(np.uint32)
    tickets <<= tickets.dtype.type(bits)
    tickets |= np.arange(below, dtype=tickets.dtype)
    if size < below:
        tickets.partition(size - 1, axis=1)
        tickets = tickets[:, :size].copy()
    tickets.sort(axis=1)
    tickets &= tickets.dtype.type((1 << bits) - 1)
    distinct: NDArray[np.int64] = tickets.astype(np.int64)
    return distinct


def draw_standard_normal(rng: Randomness, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Normal numbers of mean 0 and deviation 1, float32, of :data:`LEVELS` different values."""
    levels = draw_uniform_levels(rng, shape)
    return _quantiles().take(levels, mode="wrap")  # in range: no check needed


@cache
def _quantiles() -> NDArray[np.float32]:
    """The normal distribution's, at the middle of each level; the outermost are ±4.3."""
    from scipy.special import ndtri

    quantiles: NDArray[np.float32] = ndtri((np.arange(LEVELS) + 0.5) / LEVELS).astype(np.float32)
    return quantiles


class Ranged:
    """A dataclass of ranges: from its field ``low`` to ``high``, or from ``x_low`` to ``x_high``.

    Raises:
        ValueError: one ends before it begins.
    """

    def __post_init__(self) -> None:
        for name, low in vars(self).items():
            if name == "low" or name.endswith("_low"):
                high = getattr(self, f"{name.removesuffix('low')}high", low)
                if not low <= high:
                    kind = type(self).__name__
                    raise ValueError(f"the range of {kind} ends at {high}, before {low}")


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
#: Words that are computed together: as many as the processor's cache holds with what is between.
_BLOCK = 1 << 14


def _of_numbers(numbers: Words) -> Words:
    """What a stream's key is combined with for the streams of these numbers below it."""
    return mix_bits((numbers + _ONE) * _GOLDEN)


@cache
def _numbered() -> Words:
    """The same for small numbers, such as those of queries, computed once."""
    return _of_numbers(np.arange(_BLOCK, dtype=np.uint64))


class BatchedStreams:
    """As many streams as keys, all of them at the same place.

    Args:
        keys: uint64 ``(n,)``; equal keys are equal streams.
        drawn: the first words of each, where they are known, uint64 ``(n, m)``.
    """

    def __init__(self, keys: Words, drawn: Words | None = None) -> None:
        self._keys = keys
        self._place = 0
        self._drawn = keys.reshape(-1, 1)[:, :0] if drawn is None else drawn

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, rows: NDArray[np.int64] | slice) -> Self:
        """The streams of these rows, from their beginning."""
        return type(self)(self._keys[rows], self._drawn[rows])

    def below(self, numbers: NDArray[np.int64]) -> Self:
        """For each stream the one of this number below it, int64 ``(n,)``, from its beginning."""
        own, known = numbers.astype(np.uint64), _numbered()
        if own.max(initial=0) < len(known):
            return type(self)(mix_bits(self._keys ^ known.take(numbers)))
        return type(self)(mix_bits(self._keys ^ _of_numbers(own)))

    def drawn_ahead(self, count: int) -> Self:
        """The same streams, with their first numbers drawn for all at once: that takes less."""
        ahead = type(self)(self._keys)
        return type(self)(self._keys, ahead._words((len(self), count)))

    def random(self, size: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Numbers from [0, 1), float64; ``size`` is n or begins with it, here and below."""
        return (self._words(size) >> np.uint64(11)) * np.float64(2.0**-53)

    def uniform(self, low: float, high: float, size: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Numbers from [low, high), float64."""
        return low + (high - low) * self.random(size)

    def integers(
        self,
        low: int,
        high: int | NDArray[np.int64],
        size: int | tuple[int, ...],
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> NDArray[Any]:
        """Integers from [low, high), or [low, high] with ``endpoint``.

        Args:
            low: the smallest.
            high: the end: less than 2**32 above ``low``, or 2**64 above it for whole words; an
                array whose shape fits ``size`` gives every number an end of its own.
            size: shape of the result.
            dtype: dtype of the result.
            endpoint: whether the end itself can be drawn.
        """
        if isinstance(high, int) and high - low == 1 << 64:
            return self._words(size)
        drawn: NDArray[Any] = (self.random(size) * (high - low + endpoint)).astype(np.int64)
        drawn += low
        return drawn.astype(dtype, copy=False)

    def choice(self, values: NDArray[Any], /, size: int | tuple[int, ...]) -> NDArray[Any]:
        """Elements of ``values``, each with equal chance."""
        drawn: NDArray[Any] = values[self.integers(0, len(values), size)]
        return drawn

    def _words(self, size: int | tuple[int, ...]) -> Words:
        """The next words of every stream, each row's own."""
        shape = (size,) if isinstance(size, int) else size
        assert shape[0] == len(self._keys)
        count = math.prod(shape[1:])
        if self._place + count <= self._drawn.shape[1]:
            self._place += count
            return self._drawn[:, self._place - count : self._place].reshape(shape).copy()
        places = np.arange(self._place + 1, self._place + count + 1, dtype=np.uint64)
        places *= _GOLDEN
        self._place += count
        words = np.empty((len(self._keys), count), np.uint64)
        rows = max(1, _BLOCK // max(1, count))
        for start in range(0, len(words), rows):
            block = words[start : start + rows]
            mix_bits(np.add(self._keys[start : start + rows, np.newaxis], places, out=block))
        return words.reshape(shape)


#: What mutators draw from. Every ``size`` begins with the batch, so that each row may have numbers
#: of another stream; what is drawn for a row must not depend on the others, not even on how often.
Randomness = np.random.Generator | BatchedStreams
