"""Files taken apart and put together: archives, and the places of documents and models."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import flatbuffers
import h5py
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from google.protobuf.message import Message

Members = list[tuple[str, bytes]]


def members(data: bytes) -> Members:
    """The files of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def zipped(many: Members, method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of files of any names, which may be there twice."""
    target = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, content in many:
            entry = zipfile.ZipInfo("x", (1980, 1, 1, 0, 0, 0))
            entry.filename = name
            archive.writestr(entry, content, method)
    return target.getvalue()


def h5_edited(data: bytes, edit: Callable[[h5py.File], object]) -> bytes:
    """An HDF5 file, or that of a Keras archive, after an edit."""
    if data[:2] == b"PK":
        many = dict(members(data))
        many["model.weights.h5"] = h5_edited(many["model.weights.h5"], edit)
        return zipped([*many.items()])
    file = io.BytesIO(data)
    with h5py.File(file, "r+") as opened:
        edit(opened)
    return file.getvalue()


def h5_things(file: h5py.File, kind: type) -> list[str]:
    """Names of all data sets, or of all groups."""
    found: list[str] = []
    file.visititems(lambda name, thing: found.append(name) if isinstance(thing, kind) else None)
    return found


def litert_edited(data: bytes, edit: Callable[[Any], object]) -> bytes:
    """A LiteRT file after a change of its tables."""
    model = schema.ModelT.InitFromPackedBuf(data, 0)
    edit(model)
    builder = flatbuffers.Builder(len(data))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


@dataclass(frozen=True)
class Place:
    """Where something stands in a document, a protobuf message, or a table of LiteRT.

    Args:
        value: what stands there.
        put: puts another thing in its place.
        remove: takes it away.
        repeat: makes it stand there several times more; None where only one can.
    """

    value: Any
    put: Callable[[Any], object]
    remove: Callable[[], object]
    repeat: Callable[[int], object] | None = None


def places_of(part: Any) -> Iterator[Place]:
    """All places below a part, whatever it is of."""
    if isinstance(part, dict):
        for key, value in [*part.items()]:
            yield Place(value, partial(part.__setitem__, key), partial(part.pop, key))
            yield from places_of(value)
    elif isinstance(part, list):
        yield from _of_list(part)
    elif isinstance(part, Message):
        for field, value in part.ListFields():
            if field.is_repeated:
                yield from _of_list(value)
            else:
                is_message = isinstance(value, Message)
                put = value.CopyFrom if is_message else partial(setattr, part, field.name)
                yield Place(value, put, partial(part.ClearField, field.name))
                yield from places_of(value)
    elif type(part).__module__ == schema.__name__:
        for name, value in [*vars(part).items()]:
            if isinstance(value, np.ndarray) and name != "data":
                value = value.tolist()
                setattr(part, name, value)
            if isinstance(value, list):
                yield from _of_list(value)
            else:
                put = partial(setattr, part, name)
                yield Place(value, put, partial(put, None))
                yield from places_of(value)


def _of_list(many: Any) -> Iterator[Place]:
    for number, value in enumerate([*many]):
        put = value.CopyFrom if isinstance(value, Message) else partial(many.__setitem__, number)
        repeat = lambda times, value=value: many.extend([value] * times)  # noqa: E731
        yield Place(value, put, partial(many.__delitem__, number), repeat)
        yield from places_of(value)


#: Fields of LiteRT's tables that hold a text, or could.
_TEXTS = ("name", "sharedName", "container", "description", "customCode", "signatureKey")


def litert_texts(part: Any) -> list[tuple[Any, str]]:
    """Where texts stand in a LiteRT model, and where they could: tables and their fields."""
    if isinstance(part, list):
        return [place for one in part for place in litert_texts(one)]
    if not hasattr(part, "__dict__"):
        return []
    here = [(part, n) for n, v in vars(part).items() if isinstance(v, str | bytes) or n in _TEXTS]
    return here + [place for value in vars(part).values() for place in litert_texts(value)]
