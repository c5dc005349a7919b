"""Random numbers of many items side by side.

A :class:`BatchedStreams` answers like one ``numpy.random.Generator`` that draws for a batch, but
every row of what it draws comes from a stream of its own. The streams are counter-based (Salmon et
al., SC 2011): a number is a function of the stream's key and of its place in the stream. So a row
is the same whatever the other rows are, a stream can be entered anywhere, and numbers that were
drawn in vain are drawn again by asking again. The function is SplitMix64's (Steele, Lea and Flood,
OOPSLA 2014), which also derives the keys of streams below streams.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.randomness.random_streams import mix

Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
#: Words that are computed together: as many as the processor's cache holds with what is between.
_BLOCK = 1 << 14


def _of_numbers(numbers: Words) -> Words:
    """What a stream's key is combined with for the streams of these numbers below it."""
    return mix((numbers + _ONE) * _GOLDEN)


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
            return type(self)(mix(self._keys ^ known.take(numbers)))
        return type(self)(mix(self._keys ^ _of_numbers(own)))

    def drawn_ahead(self, count: int) -> Self:
        """The same streams, with their first numbers drawn for all at once: that takes less."""
        ahead = type(self)(self._keys)
        return type(self)(self._keys, ahead._words((len(self), count)))

    def random(self, size: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Numbers from [0, 1), float64; ``size`` is n or begins with it, here and below."""
        numbers: NDArray[np.float64] = (self._words(size) >> np.uint64(11)) * np.float64(2.0**-53)
        return numbers

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
            mix(np.add(self._keys[start : start + rows, np.newaxis], places, out=block))
        return words.reshape(shape)
