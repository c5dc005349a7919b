"""Mutators for HDF5 files, through h5py."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import h5py
import numpy as np

from reader_fuzzing.bait import OUTSIDE
from reader_fuzzing.mutators import Mutator
from reader_fuzzing.mutators.text import TOKENS
from reader_fuzzing.mutators.trees import ODD_VALUES, changed_tree


def _edited(data: bytes, edit: Callable[[h5py.File], None]) -> bytes:
    file = io.BytesIO(data)
    with h5py.File(file, "r+") as opened:
        edit(opened)
    return file.getvalue()


def _things(file: h5py.File, kind: type) -> list[str]:
    found: list[str] = []
    file.visititems(lambda name, thing: found.append(name) if isinstance(thing, kind) else None)
    return found


def _dataset(file: h5py.File, random: Random) -> str:
    return random.choice(_things(file, h5py.Dataset))


def link(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(file: h5py.File) -> None:
        name = random.choice(_things(file, h5py.Dataset) + _things(file, h5py.Group))
        del file[name]
        file[name] = random.choice(
            (
                h5py.ExternalLink(f"{OUTSIDE}/secret.h5", "/weights"),
                h5py.ExternalLink(f"{OUTSIDE}/secret.h5", "/"),
                h5py.SoftLink("/"),
                h5py.SoftLink(f"/{name}"),
                h5py.SoftLink("/absent"),
            )
        )

    return _edited(data, edit)


def elsewhere(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    """Data in another file: external storage, or a virtual data set."""

    def edit(file: h5py.File) -> None:
        name = _dataset(file, random)
        shape = file[name].shape or (4,)
        del file[name]
        if random.random() < 0.5:
            size = int(np.prod(shape)) * 4
            outside = [(f"{OUTSIDE}/secret.bin", 0, size)]
            file.create_dataset(name, shape, "<f4", external=outside)
        else:
            layout = h5py.VirtualLayout((64, 64), np.float32)
            layout[:] = h5py.VirtualSource(f"{OUTSIDE}/secret.h5", "weights", (64, 64))
            file.create_virtual_dataset(name, layout)

    return _edited(data, edit)


def retyped(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(file: h5py.File) -> None:
        name = _dataset(file, random)
        shape = random.choice((file[name].shape, (0,), (1,), (2, 2), (3, 3, 3, 3), ()))
        kind = random.choice(
            ("<f8", "<i8", "S10", h5py.string_dtype(), h5py.ref_dtype, "<c16", "<u1", "<f2",
             np.dtype([("a", "<f4")]), h5py.enum_dtype({"a": 1}), h5py.vlen_dtype("<i4"))
        )  # fmt: skip
        del file[name]
        file.create_dataset(name, shape, kind)

    return _edited(data, edit)


def huge(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(file: h5py.File) -> None:
        name = _dataset(file, random)
        del file[name]
        shape = random.choice(((200_000, 200_000), (2**40,), (30_000, 30_000)))
        chunks = (1000,) * len(shape)
        file.create_dataset(name, shape, "<f4", chunks=chunks, compression="gzip")

    return _edited(data, edit)


def gone(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(file: h5py.File) -> None:
        del file[random.choice(_things(file, h5py.Dataset) + _things(file, h5py.Group))]

    return _edited(data, edit)


def attribute(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(file: h5py.File) -> None:
        holders = [file, *(file[name] for name in _things(file, h5py.Group))]
        holder = random.choice([h for h in holders if len(h.attrs)])
        name = random.choice(list(holder.attrs))
        if random.random() < 0.2:
            del holder.attrs[name]
            return
        if isinstance(holder.attrs[name], str) and random.random() < 0.4:
            holder.attrs[name] = random.choice(TOKENS)[:60_000].replace("\0", "")
            return
        odd = ("", "\0x", b"\xff\xfe", 1, 1.5, [b"a", b"b"], [b""], np.zeros(0), "2.1.0", "9" * 50)
        holder.attrs[name] = random.choice(odd)

    return _edited(data, edit)


def config(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(file: h5py.File) -> None:
        text: Any = file.attrs["model_config"]
        tree = json.loads(text)
        for _ in range(random.choice((1, 1, 2, 4))):
            tree = changed_tree(tree, random)
        file.attrs["model_config"] = json.dumps(tree)

    return _edited(data, edit)


def odd_config(data: bytes, random: Random, _pool: Sequence[bytes]) -> bytes:
    def edit(file: h5py.File) -> None:
        odd = random.choice(ODD_VALUES)
        file.attrs["model_config"] = json.dumps(odd)

    return _edited(data, edit)


MUTATORS: tuple[Mutator, ...] = (
    link, elsewhere, retyped, huge, gone, attribute, attribute, config, config, config, config,
    odd_config,
)  # fmt: skip
