"""Mutators for text, and for tables of cells."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from types import SimpleNamespace

from reader_fuzzing.mutators import Mutator

#: Pieces that mean something to one format or another.
TOKENS = (
    "null", "~", "true", "NaN", "-Infinity", "1e999", "9" * 400, "0x10", "!!python/name:os.system",
    "*a", "&a [*a]", "<<: *a", "{", "[", "]]", '"', "'", "\\", "\\u0000", "\ud7ff", "\ufeff", "\0",
    "\r", "\n", "\t", "%", "---", "- ", ": ", "$(touch x)", ";touch x", "../../outside/secret.txt",
    "{{ 1 }}", "<script>", "${oc.env:HOME}", "=cmd()", "\u202e", "\x1b[31m", "i" * 5000,
    "__import__('os').system('touch ../../outside/ran')", "'''", '"""', "größe", "def", "a\nb",
    "x" * 1_000_000,
)  # fmt: skip


def token(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.choice(TOKENS).encode() + data[at:]


def line_gone(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        del lines[random.randrange(len(lines))]
    return b"".join(lines)


def line_again(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
    return b"".join(lines)


def indented(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        at = random.randrange(len(lines))
        lines[at] = random.choice((b" ", b"  ", b"\t", b"    ")) + lines[at]
    return b"".join(lines)


def other_encoding(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    text = data.decode("utf-8", errors="replace")
    return text.encode(random.choice(("utf-16", "utf-32", "latin-1", "utf-8-sig")), "replace")


MUTATORS: tuple[Mutator, ...] = (token, line_gone, line_again, indented, other_encoding)


def cell(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    rows = [line.split(b",") for line in data.split(b"\n")]
    row = random.choice(rows)
    row[random.randrange(len(row))] = random.choice(TOKENS).encode()
    return b"\n".join(b",".join(row) for row in rows)


def column_gone(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    rows = [line.split(b",") for line in data.split(b"\n")]
    at = random.randrange(max(map(len, rows)))
    return b"\n".join(b",".join(row[:at] + row[at + 1 :]) for row in rows)


def column_renamed(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    head, _, rest = data.partition(b"\n")
    names = head.split(b",")
    names[random.randrange(len(names))] = random.choice((b"", b"x", names[0], b"\xff"))
    return b",".join(names) + b"\n" + rest


def other_separator(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    return data.replace(b",", random.choice((b";", b"\t", b"\0", b'","')))


cells = SimpleNamespace(MUTATORS=(cell, cell, column_gone, column_renamed, other_separator))
