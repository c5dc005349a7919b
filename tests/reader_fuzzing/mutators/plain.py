"""Mutators for bytes of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from reader_fuzzing.mutators import Mutator

#: Numbers at the edges of what fields hold.
EXTREMES = (0, 1, -1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
            2**63 - 1, 2**63, 2**64 - 1, 1 << 40)  # fmt: skip


def flip(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8, 64))):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def overwrite(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    at, length = _span(data, random)
    return data[:at] + random.randbytes(length) + data[at + length :]


def truncate(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def remove(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    at, length = _span(data, random)
    return data[:at] + data[at + length :]


def insert(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    at, length = _span(data, random)
    piece = random.choice((random.randbytes(length), b"\0" * length, b"\xff" * length))
    return data[:at] + piece + data[at:]


def duplicate(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    at, length = _span(data, random)
    return data[: at + length] + data[at : at + length] * random.choice((1, 2, 50)) + data[at:]


def splice(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    other = random.choice(pool)
    start, length = _span(other, random)
    at, replaced = _span(data, random)
    return data[:at] + other[start : start + length] + data[at + replaced :]


def extreme(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    width = random.choice((1, 2, 4, 8))
    if len(data) < width:
        return data
    at = random.randrange(len(data) - width + 1)
    value = random.choice(EXTREMES) % (1 << 8 * width)
    order = random.choice(("little", "big"))
    return data[:at] + value.to_bytes(width, order) + data[at + width :]  # type: ignore[arg-type]


def _span(data: bytes, random: Random) -> tuple[int, int]:
    at = random.randrange(len(data) + 1)
    return at, min(len(data) - at, random.choice((1, 2, 4, 16, 100, 1000)))


MUTATORS: tuple[Mutator, ...] = (
    flip, overwrite, truncate, remove, insert, duplicate, splice, extreme,
)  # fmt: skip
