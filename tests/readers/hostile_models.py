"""Models' files with other texts in place of theirs: also names of HDF5 groups and data sets."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import h5py
import numpy as np

from readers import formats
from readers.formats import Change, changed_json


def with_names(content: bytes, change: Change) -> bytes:
    """An HDF5 file after a change of all names and texts."""
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
        return changed_json(value, change)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([*map(partial(_of_path, change), value.tolist())], object)
    return _of_path(change, value) if isinstance(value, str) else value


def _of_path(change: Change, name: str) -> str:
    return "/".join(change(part) for part in name.split("/"))


texts_in = partial(formats.texts_in, edit_h5=with_names)
with_texts = partial(formats.with_texts, edit_h5=with_names)
