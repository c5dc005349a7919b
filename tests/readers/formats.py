"""Files taken apart and put together: archives, places of documents and models, their texts."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import flatbuffers
import h5py
import numpy as np
import onnx
from ai_edge_litert import schema_py_generated as schema
from google.protobuf.message import Message

Members = list[tuple[str, bytes]]
#: Gives a text, and a file of which each text is changed so.
Change = Callable[[str], str]
Edit = Callable[[bytes, Change], bytes]


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


def texts_in(content: bytes, edit_h5: Edit | None = None) -> list[str]:
    """All different texts of a file: of LiteRT the numbers of the places where one can stand.

    Args:
        content: the file's.
        edit_h5: changes the texts of HDF5 files, also inside archives; None for those of
            configurations alone.
    """
    if content[4:8] == b"TFL3":
        found: list[Any] = []
        litert_edited(content, lambda model: found.extend(litert_texts(model)))
        return [str(number) for number in range(len(found))]
    seen: dict[str, str] = {}
    _changed(content, lambda text: seen.setdefault(text, text), edit_h5)
    return [*filter(None, seen)]


def with_texts(content: bytes, new: Mapping[str, str], edit_h5: Edit | None = None) -> bytes:
    """A file with other texts, by what :func:`texts_in` returns.

    Names are references too, so a text changes wherever it stands.
    """
    if content[4:8] == b"TFL3":

        def edit(model: Any) -> None:
            places = litert_texts(model)
            for number, text in new.items():
                setattr(*places[int(number)], text.encode())

        return litert_edited(content, edit)
    return _changed(content, lambda text: new.get(text, text), edit_h5)


def _changed(content: bytes, change: Change, edit_h5: Edit | None) -> bytes:
    if content[:2] == b"PK":
        many = members(content)
        again = partial(_changed, change=change, edit_h5=edit_h5)
        return zipped([(n, again(c) if edit_h5 or n.endswith(".json") else c) for n, c in many])
    if content[1:4] == b"HDF":
        return (edit_h5 or _configurations)(content, change)
    if content[:1] != b"\x08":
        return changed_json(content, change).encode()
    model = onnx.ModelProto.FromString(content)  # it begins with its version
    for place in places_of(model):
        if isinstance(place.value, str):
            place.put(change(place.value))
        elif isinstance(place.value, bytes) and place.value.isascii():  # an attribute
            place.put(change(place.value.decode()).encode())
    return bytes(model.SerializeToString())


def _configurations(content: bytes, change: Change) -> bytes:
    def edit(file: h5py.File) -> None:
        documents = {k: v for k, v in file.attrs.items() if str(v)[:1] == "{"}
        file.attrs.update({k: changed_json(v, change) for k, v in documents.items()})

    return h5_edited(content, edit)


def changed_json(text: str | bytes, change: Change) -> str:
    """A JSON document after a change of each of its texts, keys as well."""
    return json.dumps(_of_document(json.loads(text), change))


def _of_document(value: Any, change: Change) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_of_document(one, change) for one in value]
    if isinstance(value, dict):
        return {change(key): _of_document(one, change) for key, one in value.items()}
    return value
