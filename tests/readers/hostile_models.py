"""Models' files with other texts in place of theirs, in every format."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import h5py
import numpy as np
import onnx

from readers.formats import litert_edited, litert_texts, members, places_of, zipped

Change = Callable[[str], str]


def texts_in(content: bytes) -> list[str]:
    """All different texts of a file: of LiteRT the numbers of the places where one can stand."""
    if content[4:8] == b"TFL3":
        found: list[Any] = []
        litert_edited(content, lambda model: found.extend(litert_texts(model)))
        return [str(number) for number in range(len(found))]
    seen: dict[str, None] = {}

    def see(text: str) -> str:
        seen[text] = None
        return text

    _changed(content, see)
    return [*filter(None, seen)]


def with_texts(content: bytes, new: Mapping[str, str]) -> bytes:
    """A file with other texts, by what :func:`texts_in` returns.

    Names are references too, so a text changes wherever it stands.
    """
    if content[4:8] == b"TFL3":

        def edit(model: Any) -> None:
            places = litert_texts(model)
            for number, text in new.items():
                setattr(*places[int(number)], text.encode())

        return litert_edited(content, edit)
    return _changed(content, lambda text: new.get(text, text))


def _changed(content: bytes, change: Change) -> bytes:
    if content[:2] == b"PK":
        return zipped([(name, _changed(inner, change)) for name, inner in members(content)])
    if content[:1] == b"{":
        return json.dumps(_of_document(json.loads(content), change)).encode()
    return (_of_hdf5 if content[1:4] == b"HDF" else _of_onnx)(content, change)


def _of_document(value: Any, change: Change) -> Any:
    """A JSON value after a change of each of its texts, keys as well."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_of_document(one, change) for one in value]
    if isinstance(value, dict):
        return {change(key): _of_document(one, change) for key, one in value.items()}
    return value


def _of_hdf5(content: bytes, change: Change) -> bytes:
    import io

    target = io.BytesIO()
    with h5py.File(io.BytesIO(content)) as old, h5py.File(target, "w") as new:
        parts = [("", old)]
        old.visititems(lambda name, part: parts.append((name, part)))
        for name, part in parts:
            there = _of_path(change, name)
            if isinstance(part, h5py.Dataset):
                copied = new.create_dataset(there, data=part[()])
            else:
                copied = new.require_group(there) if name else new
            for key, value in part.attrs.items():
                copied.attrs[change(key)] = _of_attribute(value, change)
    return target.getvalue()


def _of_attribute(value: Any, change: Change) -> Any:
    if isinstance(value, str) and value.startswith("{"):
        return json.dumps(_of_document(json.loads(value), change))
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([*map(partial(_of_path, change), value.tolist())], object)
    return _of_path(change, value) if isinstance(value, str) else value


def _of_path(change: Change, name: str) -> str:
    return "/".join(change(part) for part in name.split("/"))


def _of_onnx(content: bytes, change: Change) -> bytes:
    model = onnx.ModelProto.FromString(content)
    for place in places_of(model):
        if isinstance(place.value, str):
            place.put(change(place.value))
        elif isinstance(place.value, bytes) and place.value.isascii():  # an attribute
            place.put(change(place.value.decode()).encode())
    return bytes(model.SerializeToString())
