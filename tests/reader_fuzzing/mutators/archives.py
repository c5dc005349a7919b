"""Mutators for zip archives, whose members are mutated by their own formats, and for gzip."""

from __future__ import annotations

import gzip
import io
import struct
import warnings
import zipfile
from collections.abc import Sequence
from random import Random
from types import SimpleNamespace

from reader_fuzzing.mutators import Mutator

_NAMES = (
    "../escape.npy", "/tmp/absolute.npy", "../../outside/kept/work.txt", "a/../../b.npy", "", "/",
    "\0.npy", "config.json", "C:\\x.npy", "x" * 60000, "a\\..\\b", "CONFIG.JSON", "é.npy", ".npy",
    "model.weights.h5", "assets/../../x", "data.pkl", "none/0/none.npy", "a/b/c.npy", "a/x/c.npy",
)  # fmt: skip

Members = list[tuple[str, bytes]]


def members(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def zipped(many: Members, method: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w", method) as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in many:
            entry = zipfile.ZipInfo("x", (1980, 1, 1, 0, 0, 0))
            entry.filename = name
            archive.writestr(entry, content, method)
    return target.getvalue()


def member_changed(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    from reader_fuzzing.mutators import mutators_of

    many = members(data)
    at = random.randrange(len(many))
    name, content = many[at]
    _, mutator = random.choice(mutators_of(name, content))
    many[at] = (name, mutator(content, random, [c for _, c in many]))
    return zipped(many, random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


def member_gone(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    many = members(data)
    del many[random.randrange(len(many))]
    return zipped(many)


def member_twice(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    many = members(data)
    name, content = random.choice(many)
    other = random.choice((content, random.choice(many)[1], b"", random.choice(pool)))
    many.insert(random.randrange(len(many) + 1), (name, other))
    return zipped(many)


def member_renamed(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    many = members(data)
    at = random.randrange(len(many))
    many[at] = (random.choice((*_NAMES, many[at][0] + "x", many[0][0])), many[at][1])
    return zipped(many)


def member_added(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    return zipped([*members(data), (random.choice(_NAMES), random.choice(pool))])


def swapped(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    many = members(data)
    contents = [content for _, content in many]
    random.shuffle(contents)
    return zipped([(name, content) for (name, _), content in zip(many, contents, strict=True)])


def repacked(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    method = random.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    return zipped(members(data), method)


def _fields(data: bytes, signature: bytes) -> list[int]:
    found, at = [], data.find(signature)
    while at >= 0:
        found.append(at)
        at = data.find(signature, at + 1)
    return found


def lying(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """Sizes, checksums, flags and methods of the directory and of local headers, made up."""
    changed = bytearray(data)
    central = random.random() < 0.7
    records = _fields(data, b"PK\x01\x02" if central else b"PK\x03\x04")
    at = random.choice(records)
    offset = 0 if central else -2
    field, form = random.choice(
        [(8, "<H"), (10, "<H"), (16, "<I"), (20, "<I"), (24, "<I"), (28, "<H"), (30, "<H")]
        + ([(42, "<I"), (34, "<H"), (38, "<I")] if central else [])
    )
    most = 0xFFFF if form == "<H" else 0xFFFFFFFF
    value = random.choice((0, 1, 8, 9, 12, 14, 93, 99, most, most // 2, random.randrange(most)))
    with_offset = at + field + (offset if field < 34 else 0)
    struct.pack_into(form, changed, with_offset, min(value, most))
    return bytes(changed)


def prefixed(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    return random.choice((b"#!/bin/sh\n", b"\0" * 100, b"PK\x03\x04" + b"\0" * 26)) + data


def commented(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    return data + random.choice((b"x" * 10, b"PK\x05\x06" + b"\0" * 18, b"\0" * 70000))


MUTATORS: tuple[Mutator, ...] = (
    member_changed, member_changed, member_changed, member_changed, member_changed, member_changed,
    member_gone, member_twice, member_renamed, member_added, swapped, repacked, lying, lying,
    prefixed, commented,
)  # fmt: skip


def inside(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    from reader_fuzzing.mutators import plain

    content = random.choice(plain.MUTATORS)(gzip.decompress(data), random, pool)
    return gzip.compress(content, mtime=0)


def dimensions(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    content = bytearray(gzip.decompress(data))
    content[3] = random.choice((0, 1, 2, 4, 33, 64, 65, 255))
    return gzip.compress(bytes(content), mtime=0)


def second_stream(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    return data + random.choice((data, b"\0" * 10, b"\x1f\x8b", data[:10]))


gzipped = SimpleNamespace(MUTATORS=(inside, inside, inside, dimensions, second_stream))
