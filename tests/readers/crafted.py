"""Files each of which is the shortest form of an attack: arrays, archives, documents, tables.

An attack makes another content of a whole file's; each reader whose file has the suffix gets it.
"""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import cv2
import numpy as np

from readers.examples import OUTSIDE, Content, Odd
from readers.formats import members, zipped

#: Gives the content that is made of a whole file's, or what lies in its place; None for nothing.
Make = Callable[[bytes], Content | None]
#: What is crafted, by suffixes of files: its name, who makes it, and what has to come of it:
#: ``rejected``, or empty where a reader may do either. What lies in any file's place has no suffix.
ATTACKS: dict[str, list[tuple[str, Make, str]]] = {}


def attack(*suffixes: str, told: str = "rejected") -> Callable[[Any], Any]:
    """Register a function of a whole file's bytes."""

    def register(make: Callable[[bytes], Content]) -> Callable[[bytes], Content]:
        add(suffixes, {make.__name__: make}, told)
        return make

    return register


def add(suffixes: tuple[str, ...], many: dict[str, Any], told: str = "rejected") -> None:
    """Register contents, or functions of a whole file's bytes, by their names."""
    for name, made in many.items():
        make = made if callable(made) else partial(_always, made)
        for suffix in suffixes:
            ATTACKS.setdefault(suffix, []).append((name, make, told))


def _always(content: Content | None, _whole: bytes) -> Content | None:
    return content


add(("",), {
    "missing": None,
    "empty": b"",
    "one byte": b"\0",
    "a folder": Odd("folder"),
    "a FIFO": Odd("fifo"),
    "an endless device": Odd("link", "/dev/zero"),
    "an empty device": Odd("link", "/dev/null"),
    "a terminal": Odd("link", "/dev/tty"),
    "a link to itself": Odd("link", "."),
    "a link to nothing": Odd("link", "absent"),
    "40 GB of zeros": Odd("sparse", size=40 << 30),
}, told="")  # fmt: skip


class _Stranger:
    """Pickled, it calls a function when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, (f"touch {OUTSIDE}/ran",)


_PICKLE = pickle.dumps(_Stranger())
#: So many bytes as an array of objects declares; what follows a pickle's end is not read.
PICKLED = _PICKLE + bytes(-len(_PICKLE) % 8)
add(("npz", "npy", "json", "yaml"), {"a pickle": PICKLED})


# Arrays --------------------------------------------------------------------------------------


def _npy(shape: str, kind: str = "'<f4'", body: bytes = bytes(64)) -> bytes:
    """An array whose header says anything."""
    return _headed(f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}", body)


def _headed(header: str, body: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x02\0" + len(text).to_bytes(4, "little") + text + body


def _first_member(content: Any, whole: bytes) -> bytes:
    """An archive with another content of its first member."""
    many = members(whole) or [("a.npy", b"")]
    made = content(whole) if callable(content) else content
    return zipped([(many[0][0], made), *many[1:]])


_ARRAYS = {
    "64 GB declared": _npy("(16000000000,)"),
    "more than an integer holds": _npy("(9223372036854775807, 9)"),
    "a negative size": _npy("(-5,)"),
    "values without a width": _npy("(1000000000000,)", "'|S0'"),
    "objects": _npy(f"({len(PICKLED) // 8},)", "'|O'", PICKLED),
    "a header of 100,000 brackets": _headed("(" * 100_000),
    "a header of 16 MB": lambda _: _headed(" " * 16_000_000),
    "a header that calls": _headed("__import__('os').system('true')"),
    "a long string type": _npy("(9,)", "'<U268435455'"),
    "a type of 100,000 fields": lambda _: _npy(
        "(1,)", str([(f"f{i}", "<i4") for i in range(100_000)])
    ),
    "a million dimensions of one": lambda _: _npy("(" + "1," * 1_000_000 + ")"),
}
_DESCRIPTIONS = (
    "'>i4'", "'|b1'", "'<U100000'", "'|V16'", "'<M8[ns]'", "'<c16'", "'<i4,' * 9", "'<f2'", "None",
    "[('a', '|O')]", "[('a', '<i4', (1000000,))]", "'x'", "[]", "'O,O'",
    "{'names': ['a'], 'formats': ['<i4'], 'offsets': [2147483647]}",
)  # fmt: skip
_SHAPES = (
    "()", "(0,)", "(4294967296, 4)", "[2]", "(1,) * 40", "(True,)", "(1.5,)", "None", "('a',)",
    "(300000000,)", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)", "-" * 9000 + "1",
)  # fmt: skip
_HEADERS = {
    **{f"values of {kind}": _npy("(2,)", kind) for kind in _DESCRIPTIONS},
    **{f"a shape of {shape:.40}": _npy(shape) for shape in _SHAPES},
    **{f"a header of version {n}": _headed("{}").replace(b"\2", b"%c" % n, 1) for n in (1, 3, 255)},
}
add(("npy",), _ARRAYS)
add(("npy",), _HEADERS, told="")
#: Mapped arrays may be longer than they say; inputs may not.
UNDECLARED = _npy("(1, 8)", body=bytes(2_000_000))
for _many, _told in ((_ARRAYS, "rejected"), (_HEADERS, "")):
    add(("npz",), {name: partial(_first_member, data) for name, data in _many.items()}, _told)


# Archives ------------------------------------------------------------------------------------


@attack("npz", "keras", "pt2")
def first_member_of_4_gb_of_zeros(whole: bytes) -> bytes:
    """In 4 MB, and the headers say so."""
    name, content = members(whole)[0]
    block = 1 << 24
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    data = start + zeros * 255 + packer.flush()
    sizes = struct.pack("<III", 0, len(data), len(content) + 255 * block)
    facts = struct.pack("<HHHHH", 20, 0, 8, 0, 33) + sizes
    lengths = struct.pack("<HH", len(name.encode()), 0)
    local = b"PK\x03\x04" + facts + lengths + name.encode() + data
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + facts + lengths
    entry += struct.pack("<HHHII", 0, 0, 0, 0, 0) + name.encode()
    return local + entry + _end(1, len(entry), len(local))


def _end(count: int, size: int, start: int) -> bytes:
    """The end of a zip file: how many entries its directory has, how long it is, where it lies."""
    return struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, size, start, 0)


@attack("npz", "keras", "pt2")
def a_hundred_thousand_members(whole: bytes) -> bytes:
    return zipped([*members(whole), *((f"m{i}.npy", b"") for i in range(100_000))])


@attack("npz", "keras", "pt2")
def a_directory_of_60_mb(_whole: bytes) -> bytes:
    """Python would read it whole and hold it ten times over."""
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 0, 20, *[0] * 8, 6, *[0] * 6)
    listed = b"".join(entry + b"%06d" % number for number in range(10**6))
    return listed + _end(65535, len(listed), 0)


@attack("npz")
def many_names_of_one_place(_whole: bytes) -> bytes:
    """Each of 300 members is the same 10 MB of the file."""
    array = _npy("(10000000,)", "'|u1'", bytes(10**7))
    content = zipped([("a.npy", array)], zipfile.ZIP_DEFLATED)
    start, end = content.rfind(b"PK\x01\x02"), content.rfind(b"PK\x05\x06")
    entry = content[start:end]
    entries = b"".join(entry.replace(b"a.npy", b"%05d" % number) for number in range(300))
    return content[:start] + entries + _end(300, len(entries), start)


def _declares_64_gb(whole: bytes) -> bytes:
    """The directory says 64 GB of a member that has a few bytes."""
    many = members(whole)
    content = bytearray(zipped(many[:1], zipfile.ZIP_DEFLATED))
    at = content.rfind(b"PK\x01\x02")
    extra = struct.pack("<HHQ", 1, 8, 64 * 10**9)
    name = struct.unpack("<H", content[at + 28 : at + 30])[0]
    content[at + 24 : at + 28] = b"\xff" * 4
    content[at + 30 : at + 32] = struct.pack("<H", len(extra))
    content[at + 46 + name : at + 46 + name] = extra
    start = content.rfind(b"PK\x05\x06")
    return bytes(content[:start]) + _end(1, start - at, at)


add(("npz", "keras", "pt2"), {
    "64 GB declared in the directory": _declares_64_gb,
    "a member twice": lambda whole: zipped([*members(whole), members(whole)[0]]),
    "packed by bzip2": lambda whole: zipped(members(whole), zipfile.ZIP_BZIP2),
    "packed by LZMA": lambda whole: zipped(members(whole), zipfile.ZIP_LZMA),
})  # fmt: skip


@attack("npz", "keras", "pt2", told="")
def members_that_leave_the_folder(whole: bytes) -> bytes:
    names = (f"{OUTSIDE}/ran", "/tmp/asterism-ran", "../x", "assets/../../outside/ran")
    return zipped([*members(whole), *((name, b"x") for name in names)])


@attack("gz")
def four_gb_of_zeros(_whole: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    start = packer.compress(b"\0\0\x08\x01\xff\xff\xff\xff") + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + zeros * 256 + packer.flush()


add(("gz",), {"sizes that overflow": gzip.compress(b"\0\0\x08\x04" + b"\0\1\0\0" * 4)})


# Documents and tables ------------------------------------------------------------------------

add(("json",), {
    "100,000 lists deep": b"[" * 100_000 + b"]" * 100_000,
    "a list without its end": b"[" * 100_000,
    "1,500 mappings deep": b'{"a":' * 1_500 + b"1" + b"}" * 1_500,
    "300 mappings deep": b'{"a":' * 300 + b"1" + b"}" * 300,
    "a number of 100,000 digits": b"[" + b"9" * 100_000 + b"]",
    "bytes that are no text": b'{"a": "\xff\xfe"}',
    "mappings by the million": lambda _: b"[" + b"{}," * 6_000_000 + b"{}]",
    "lists by the million": lambda _: b"[" + b"[]," * 6_000_000 + b"[]]",
    "texts by the million": lambda _: b"[" + b'"ab",' * 3_900_000 + b"0]",
    "200 MB": lambda _: b"[0]" + b" " * (200 << 20),
})  # fmt: skip
add(("json",), {
    "an exponent": b'{"a": 1e999999999}',
    "NaN": b'{"a": NaN, "b": -Infinity}',
    "a lone surrogate": b'{"a": "\\ud800"}',
    "a key twice": b'{"a": 1, "a": 2}',
    "null": b"null",
    "a list of null": b"[null]",
    "a mapping of null": b'{"": null}',
    "a string": b'"x"',
}, told="")  # fmt: skip


def _laughs(base: int, levels: int) -> bytes:
    lines = [f"a0: &a0 [{', '.join(['lol'] * base)}]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * base)}]")
    return "\n".join(lines).encode()


YAML = {
    "a billion laughs": _laughs(10, 9),
    "laughs by merging": b"a: &a {x: 1}\n" + b"".join(
        b"b%d: &b%d {<<: [%s]}\n" % (i, i, b", ".join([b"*b%d" % (i - 1) if i else b"*a"] * 9))
        for i in range(9)
    ),
    "an alias of itself": b"a: &a [*a]\n",
    "a mapping of itself": b"&a {a: *a}\n",
    "a command": b"!!python/object/apply:os.system ['touch ../../outside/ran']\n",
    "a name": b"a: !!python/name:os.system\n",
    "100,000 lists deep": b"[" * 100_000,
    "3,000 lists deep": b"a: " + b"[" * 3_000 + b"]" * 3_000,
    "a list as a key": b"? [1, 2]\n: 3\n",
    "60 MB of lists": lambda _: b"seed: [" + b"[]," * 20_000_000 + b"]",
    "an impossible date": b"data: 2001-99-99\n",
    "a time of nothing": b"seed: !!timestamp x\n",
    "a number of 100,000 digits": b"seed: " + b"9" * 100_000,
    "two documents": b"a: 1\n---\nb: 2\n",
    "no text": b"\xff\xfe\x00\x01",
    "control characters": b"a: \x07\x08\n",
}  # fmt: skip
add(("yaml",), YAML)
add(("lock",), YAML, told="")  # of which no more is read than a stage
add(("yaml", "lock"), {
    "numbers as keys": b"1: 2\n2.5: 3\nnull: 4\ntrue: 5\n",
    "a date": b"data: 2001-01-01\n",
    "a sexagesimal number": b"seed: " + b"9:59" * 20_000,
    "a scalar": b"x",
    "a list": b"- 1\n",
}, told="")  # fmt: skip
add(("csv",), {
    "columns by the million": lambda _: b"," * 10**7 + b"\n",
    "columns by the million after a line": lambda _: b'"a\nb"' + b"," * 10**7 + b"\n",
    "rows by the million": lambda _: b"a\n" + b"1\n" * 9_000_000,
    "a name without its end": lambda _: b'"' + b"a\n" * 2_000_000,
})  # fmt: skip
add(("csv",), {
    "a pickle": PICKLED,
    "a field without an end": lambda _: b'image,angle\n"' + b"x" * 2_000_000,
    "NUL": b"image,angle\n\0,\0\n\0,1\n",
    "formulas": lambda whole: whole + b"=cmd|' /C calc'!A0,1,2,3\n",
}, told="")  # fmt: skip


# Sounds and pictures -------------------------------------------------------------------------


def _wave(rate: int, samples: bytes = bytes(2000), parts: bytes = b"") -> bytes:
    """A sound of 16-bit samples."""
    facts = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, rate, 2 * rate % 2**32, 2, 16)
    content = facts + parts + b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", 4 + len(content)) + b"WAVE" + content


add(("wav",), {
    "a rate of one": _wave(1, bytes(2_000_000)),
    "a rate of four billion": _wave(2**32 - 5),
    "parts by the million": lambda _: _wave(16_000, parts=(b"LIST" + bytes(4)) * 4_000_000),
})  # fmt: skip


def _png(width: int, height: int, body: bytes) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = chunk(b"IDAT", zlib.compress(body, 1))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + data + chunk(b"IEND", b"")


def _jpeg(width: int, height: int) -> bytes:
    """A JPEG whose header says another size than its data have."""
    content = bytearray(cv2.imencode(".jpg", np.zeros((8, 8, 3), np.uint8))[1].tobytes())
    at = content.find(b"\xff\xc0")
    content[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(content)


PICTURES = {
    "a PNG of 1,000,000 × 1,000,000": _png(10**6, 10**6, b"\0"),
    "a PNG of 30,000 × 30,000": _png(30_000, 30_000, b"\0" * 1_000_000),
    "a PNG of no pixels": _png(0, 0, b""),
    "a JPEG of 30,000 × 30,000": _jpeg(30_000, 30_000),
    "a picture of 1,000,000,000 × 1 in PPM": b"P6\n1000000000 1\n255\n",
    "a picture in text": b"P3\n2 2\n255\n0 0 0\n",
    "an OpenEXR file": b"\x76\x2f\x31\x01" + b"\0" * 100,
    "an HDR file": b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 99999 +X 99999\n",
    "a BMP of 40,000 × 40,000": b"BM" + struct.pack(
        "<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, 40_000, 40_000, 1, 24, 0, 0, 0, 0, 0, 0),
}  # fmt: skip


def matrices() -> Iterator[tuple[str, bytes]]:
    """Matrices in rows whose parts do not fit each other."""
    for name, change in {
        "an index beyond the columns": {"indices": np.asarray([0, 10**9])},
        "rows that go back": {"indptr": np.asarray([0, 9, 2])},
        "columns without end": {"shape": np.asarray((2, 2**62))},
    }.items():
        parts = {
            "format": np.asarray(b"csr"), "shape": np.asarray((2, 2)), "data": np.ones(2),
            "indices": np.arange(2), "indptr": np.arange(3),
        }  # fmt: skip
        file = io.BytesIO()
        np.savez(file, **parts | change)
        yield name, file.getvalue()
