"""Hypothesis strategies that damage whole files, by the structure of their format.

A format is told by a file's first bytes and its name. What has a tree (documents, messages of
ONNX, tables of LiteRT) is changed place by place, by the same few edits; archives by their members,
each by its own format; anything by its bytes.
"""

from __future__ import annotations

import copy
import gzip
import json
import re
import struct
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

import h5py
import numpy as np
import onnx
import yaml
from hypothesis import strategies as st

from hostile_text import TEXTS
from readers.examples import OUTSIDE, Content, Example, Odd
from readers.formats import h5_edited, h5_things, litert_edited, members, places_of, zipped

Draw = st.DrawFn

#: Pieces that mean something to one format or another.
TOKENS = (
    "null", "~", "true", "NaN", "-Infinity", "1e999", "9" * 400, "0x10", "!!python/name:os.system",
    "*a", "&a [*a]", "<<: *a", "{", "[", "]]", '"', "'", "\\", "\\u0000", "\ud7ff", "\ufeff", "\0",
    "\r", "\n", "\t", "%", "---", "- ", ": ", "$(touch x)", ";touch x", f"{OUTSIDE}/secret.txt",
    "{{ 1 }}", "<script>", "${oc.env:HOME}", "=cmd()", "\u202e", "\x1b[31m", "i" * 5000, "größe",
    "__import__('os').system('touch ../../outside/ran')", "def", "a\nb", "/etc/passwd", "/dev/zero",
    "x" * 1_000_000, *TEXTS,
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 7, 0x7F, 0xFF, 0xFFFF, 10**6, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**40,
    2**63 - 1, -(2**63),
)  # fmt: skip
#: What stands in a value's place in a document.
ODD_VALUES: tuple[Any, ...] = (
    None, True, 2**63, 10**30, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), "", [], {},
    [[]], {"": None}, [None] * 50, ["a", 1, None], {"class_name": "Lambda", "config": {}},
    {"class_name": "this", "module": "this", "config": {}, "registered_name": None},
    {"class_name": "function", "module": "builtins", "config": "eval", "registered_name": "eval"},
    {"class_name": "system", "module": "os", "config": {}, "registered_name": None},
    "__class__", "os.system", [1] * 40, *NUMBERS,
)  # fmt: skip
_TEXT = st.sampled_from(TOKENS) | st.text(max_size=20)
_NUMBER = st.sampled_from(NUMBERS) | st.integers(-(2**63), 2**63 - 1)
_TREES = st.recursive(
    st.sampled_from(ODD_VALUES) | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def damaged(draw: Draw, whole: Sequence[Example]) -> Example:
    """One of the whole examples after a few changes, most of them of its main file."""
    example = draw(st.sampled_from(whole))
    for _ in range(draw(st.integers(1, 4))):
        names = sorted(n for n, content in example.files.items() if isinstance(content, bytes))
        if not names:
            break
        name = draw(st.sampled_from([example.main] * (example.main in names) + names))
        if draw(st.integers(0, 29)) == 0:
            example = example.change(name, draw(_in_the_place(name, whole)))
        else:
            example = example.change(name, changed(draw, name, example.files[name]))  # type: ignore[arg-type]
    return example


def _in_the_place(name: str, whole: Sequence[Example]) -> st.SearchStrategy[Content | None]:
    """Another thing in a file's place."""
    others = [content for example in whole for content in example.files.values()]
    links = (Odd("link", name.rpartition("/")[2]), Odd("link", "absent"))
    return st.sampled_from((None, b"", Odd("folder"), *links, *others))


def changed(draw: Draw, name: str, content: bytes) -> bytes:
    """A file's content after a change that its format knows, or one of its bytes."""
    edit = _BY_SUFFIX.get(PurePath(name).suffix, _bytes)
    edit = next((edit for start, edit in _BY_START if content.startswith(start)), edit)
    if draw(st.integers(0, 3)) == 0:
        edit = _bytes
    try:
        return edit(draw, content)
    except Exception:  # it is damaged beyond what the edit understands
        return content[: draw(st.integers(0, len(content)))]


def _bytes(draw: Draw, content: bytes) -> bytes:
    """Other bytes, a number at its limits, or nothing, in the place of some."""
    start = draw(st.integers(0, len(content)))
    end = min(len(content), start + draw(st.sampled_from((0, 1, 2, 4, 8, 100, len(content)))))
    kind = draw(st.sampled_from(("binary", "number", "token", "copy", "nothing")))
    width = draw(st.sampled_from((1, 2, 4, 8)))
    order = draw(st.sampled_from(("little", "big")))
    new = {
        "binary": lambda: draw(st.binary(max_size=100)),
        "number": lambda: (draw(_NUMBER) % (1 << 8 * width)).to_bytes(width, order),  # type: ignore[arg-type]
        "token": lambda: draw(_TEXT).encode("utf-8", "surrogatepass"),
        "copy": lambda: content[start:end] * draw(st.sampled_from((2, 50))),
        "nothing": lambda: b"",
    }[kind]()
    if kind == "number":
        end = start + width
    return content[:start] + new + content[end:]


def _tree(draw: Draw, root: Any, odd: Callable[[Any], st.SearchStrategy[Any]]) -> None:
    """One change at a place of a tree.

    Args:
        root: changed in place.
        odd: what may stand in a value's place.
    """
    places = [*places_of(root)]
    place = draw(st.sampled_from(places))
    alike = [other.value for other in places if type(other.value) is type(place.value)]
    match draw(st.sampled_from(("put", "put", "put", "everywhere", "copy", "repeat", "remove"))):
        case "put":
            place.put(draw(odd(place.value)))
        case "everywhere" if isinstance(place.value, str | bytes):
            new = draw(odd(place.value))
            for same in places:
                if same.value == place.value:
                    same.put(new)
        case "copy":
            place.put(copy.deepcopy(draw(st.sampled_from(alike))))
        case "repeat" if place.repeat:
            place.repeat(draw(st.sampled_from((1, 3, 1000))))
        case _:
            place.remove()


def _typed(value: Any) -> st.SearchStrategy[Any]:
    """What a field of a message or a table may hold in a value's place."""
    if isinstance(value, float):
        return st.floats()
    if isinstance(value, str):
        return _TEXT
    if isinstance(value, bytes):
        return st.binary(max_size=100) | _TEXT.map(lambda text: text.encode(errors="replace"))
    return _NUMBER


def _document(draw: Draw, tree: Any) -> Any:
    """A document after a change: any value may stand anywhere, under any key."""
    root = [tree]

    def odd(value: Any) -> st.SearchStrategy[Any]:
        renamed = _TEXT.map(lambda key: {**value, key: value.get(next(iter(value), ""))})
        around = st.sampled_from((1, 3, 60)).map(lambda depth: _wrapped(value, depth))
        return _TREES | around | (renamed if isinstance(value, dict) else _NUMBER)

    _tree(draw, root, odd)
    return root[0] if root else None


def _wrapped(value: Any, depth: int) -> Any:
    for number in range(depth):
        value = [value] if number % 2 else {"a": value}
    return value


def _json(draw: Draw, content: bytes) -> bytes:
    tree = _document(draw, json.loads(content))
    return json.dumps(tree).encode("utf-8", "surrogatepass")


def _yaml(draw: Draw, content: bytes) -> bytes:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    tree = _document(draw, yaml.load(content, loader))
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True).encode()


_NAMES = (
    "../escape.npy", "/tmp/absolute.npy", f"{OUTSIDE}/kept/work.txt", "a/../../b.npy", "", "/",
    "\0.npy", "config.json", "C:\\x.npy", "x" * 60000, "a\\..\\b", "CONFIG.JSON", "é.npy", ".npy",
    "model.weights.h5", "assets/../../x", "data.pkl", "none/0/none.npy", "a/b/c.npy", "a/x/c.npy",
)  # fmt: skip
#: Fields of an entry of a zip file's directory, by their places and sizes.
_ENTRY = ((8, "<H"), (10, "<H"), (16, "<I"), (20, "<I"), (24, "<I"), (28, "<H"), (30, "<H"),
          (34, "<H"), (38, "<I"), (42, "<I"))  # fmt: skip


def _zip(draw: Draw, content: bytes) -> bytes:
    """A member that is damaged, gone, twice, or elsewhere; or a directory that lies of it."""
    many = members(content)
    at = draw(st.integers(0, len(many) - 1))
    name, inner = many[at]
    match draw(st.sampled_from(("member", "member", "member", "gone", "again", "name", "lie"))):
        case "member":
            many[at] = name, changed(draw, name, inner)
        case "gone":
            del many[at]
        case "again":
            many.append((draw(st.sampled_from((name, *_NAMES))), draw(st.sampled_from(many))[1]))
        case "name":
            many[at] = draw(st.sampled_from((*_NAMES, many[0][0]))), inner
        case "lie":
            entries = [found.start() for found in re.finditer(b"PK\x01\x02", content)]
            field, form = draw(st.sampled_from(_ENTRY))
            value = draw(_NUMBER) % (1 << 8 * struct.calcsize(form))
            lying = bytearray(content)
            struct.pack_into(form, lying, draw(st.sampled_from(entries)) + field, value)
            return bytes(lying)
    return zipped(many, draw(st.sampled_from((0, 0, 8, 12, 14))))


def _gzip(draw: Draw, content: bytes) -> bytes:
    return gzip.compress(_bytes(draw, gzip.decompress(content)), mtime=0) * draw(st.integers(1, 2))


_TYPES = (
    "<f8", "<i8", "S10", h5py.string_dtype(), h5py.ref_dtype, "<c16", "<u1", "<f2",
    np.dtype([("a", "<f4")]), h5py.enum_dtype({"a": 1}), h5py.vlen_dtype("<i4"),
)  # fmt: skip


def _hdf5(draw: Draw, content: bytes) -> bytes:
    """Another configuration, attribute, type or shape; or a part less."""

    def edit(file: h5py.File) -> None:
        groups = [file, *(file[name] for name in h5_things(file, h5py.Group))]
        holder = draw(st.sampled_from([h for h in groups if len(h.attrs)] or groups))
        data = draw(st.sampled_from(h5_things(file, h5py.Dataset)))
        match draw(st.sampled_from(("config", "config", "attribute", "type", "gone"))):
            case "config" if "model_config" in file.attrs:
                tree = _document(draw, json.loads(str(file.attrs["model_config"])))
                file.attrs["model_config"] = json.dumps(tree)
            case "attribute" if len(holder.attrs):
                odd = st.sampled_from(("", b"\xff\xfe", 1, [b"a", b"b"], np.zeros(0))) | _TEXT.map(
                    lambda text: text[:60_000].replace("\0", "")
                )
                holder.attrs[draw(st.sampled_from([*holder.attrs]))] = draw(odd)
            case "type":
                shape = draw(st.sampled_from((file[data].shape, (0,), (2, 2), ())))
                del file[data]
                file.create_dataset(data, shape, draw(st.sampled_from(_TYPES)))
            case _:
                del file[draw(st.sampled_from([data, *h5_things(file, h5py.Group)]))]

    return h5_edited(content, edit)


def _onnx(draw: Draw, content: bytes) -> bytes:
    model = onnx.ModelProto.FromString(content)
    _tree(draw, model, _typed)
    return bytes(model.SerializeToString())


def _litert(draw: Draw, content: bytes) -> bytes:
    return litert_edited(content, lambda model: _tree(draw, model, _typed))


_BY_START = (
    (b"PK", _zip),
    (b"\x89HDF\r\n\x1a\n", _hdf5),
    (b"\x1f\x8b", _gzip),
    (b"cmd: ", _yaml),  # an entry of the run-cache
)
_BY_SUFFIX = {
    ".onnx": _onnx, ".tflite": _litert, ".json": _json, ".yaml": _yaml, ".lock": _yaml,
}  # fmt: skip
