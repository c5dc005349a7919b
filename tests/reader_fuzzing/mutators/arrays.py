"""Mutators for NumPy's ``.npy``: its header is a Python literal, padded to 64 bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from reader_fuzzing.mutators import Mutator

_DESCRIPTIONS = (
    "'|O'", "'<f8'", "'>i4'", "'|b1'", "'<U100000'", "'|S0'", "'|V16'", "'<M8[ns]'", "'<c16'",
    "[('a', '|O')]", "[('a', '<i4', (1000000,))]", "'|u1'", "'<f2'", "None", "'x'", "[]",
    "{'names': ['a'], 'formats': ['<i4'], 'offsets': [2147483647]}", "'<i4,' * 9", "'O,O'",
)  # fmt: skip
_SHAPES = (
    "()", "(0,)", "(1,)", "(-1,)", "(64000000000,)", "(9223372036854775807,)", "(4294967296, 4)",
    "(2, 9223372036854775807)", "(1,) * 40", "(True,)", "(1.5,)", "[2]", "2", "None", "('a',)",
    "(99999999999999999999999,)", "(300000000,)", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)",
)  # fmt: skip


def _headed(data: bytes, header: str) -> bytes:
    """The array's data under another header."""
    wide = data[6] >= 2
    start = 12 if wide else 10
    length = int.from_bytes(data[8:start], "little")
    body = header.encode() + b"\n"
    return data[:8] + len(body).to_bytes(start - 8, "little") + body + data[start + length :]


def _header(data: bytes) -> str:
    start = 12 if data[6] >= 2 else 10
    length = int.from_bytes(data[8:start], "little")
    return data[start : start + length].decode("latin-1").strip()


def described(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    text = re.sub(
        r"'descr': .*?, 'f", f"'descr': {random.choice(_DESCRIPTIONS)}, 'f", _header(data)
    )
    return _headed(data, text)


def shaped(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    text = re.sub(r"'shape': \(.*?\)", f"'shape': {random.choice(_SHAPES)}", _header(data))
    return _headed(data, text)


def turned(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    order = random.choice(("True", "False", "None", "1", "[]"))
    return _headed(
        data, re.sub(r"'fortran_order': \w+", f"'fortran_order': {order}", _header(data))
    )


def headed_by(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    odd = (
        "{}", "", "[]", "__import__('os')", "{'descr': 1}", "(" * 3000, "{" * 200, "9" * 5000,
        _header(data) * 2, _header(data).replace("}", ", 'x': 1}"), "'a' " * 20000,
        "-" * 9000 + "1",
    )  # fmt: skip
    return _headed(data, random.choice(odd))


def versioned(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    return data[:6] + random.choice((b"\2\0", b"\3\0", b"\0\0", b"\xff\xff", b"\1\1")) + data[8:]


def cut_body(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    return data[: len(data) - random.choice((1, 4, 16, len(data) // 2))]


MUTATORS: tuple[Mutator, ...] = (
    described, described, shaped, shaped, turned, headed_by, versioned, cut_body,
)  # fmt: skip
