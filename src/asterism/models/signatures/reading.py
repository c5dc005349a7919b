"""Reading the signature of a model file of any known format.

An ONNX model with its data in other files is packed into one file first.
"""

from __future__ import annotations

import mmap
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from asterism.core.files.artifacts import replacing, require_file
from asterism.core.files.hashes import hash_path
from asterism.core.files.records import record_from
from asterism.core.messages.errors import UserError, name_file_in_errors
from asterism.core.settings.regular_files import open_regular
from asterism.models.foreign.onnx_files import pack_onnx
from asterism.models.foreign.other_files import require_model_bytes
from asterism.models.isolated_model import IsolatedModel, Served
from asterism.models.signatures.keras import keras_signature
from asterism.models.signatures.onnx import onnx_signature
from asterism.models.signatures.signature import Signature
from asterism.models.signatures.tflite import tflite_signature
from asterism.models.signatures.torch import torch_signature

#: What an ONNX file has where it names another one.
_SIGN = b"location"
#: How temporary folders of packed models are called.
_PACKED = "asterism-packed-"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A model's file, or a temporary one of the same name that also holds what lies beside it.

    Packing is done in a process of its own, which a crafted file can crash or hold up.

    Raises:
        UserError: see :func:`~asterism.models.foreign.onnx_files.pack_onnx`.
    """
    if path.suffix != ".onnx" or not _may_name_others(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix=_PACKED) as folder:
        target = Path(folder) / path.name
        with closing(IsolatedModel(path, pack_for_stage, [str(path), str(target)])) as made:
            has_others = made.facts["has_others"]
        yield target if has_others else path


def keep_packed(file: Path, folder: Path) -> Path:
    """Where a model stays: a packed one in a folder, by its content; any other where it is."""
    if not file.parent.name.startswith(_PACKED):
        return file
    target = folder / hash_path(file)[:12] / file.name
    if not target.exists():
        with replacing(target) as temporary:
            shutil.copyfile(file, temporary)
    return target.absolute()


def pack_for_stage(path: str, target: str) -> Served:
    """Pack a model where it keeps data in other files: for the other process."""
    return {"has_others": pack_onnx(Path(path), Path(target))}, lambda _: []


def _may_name_others(path: Path) -> bool:
    with (
        suppress(OSError, ValueError),  # the reader says what is wrong
        open_regular(path) as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content.find(_SIGN) >= 0
    return False


#: Seconds for a signature: reading the largest files takes some.
_SECONDS = 60.0

_READERS: dict[str, Callable[[Path], Signature]] = {
    ".keras": keras_signature,
    ".h5": keras_signature,
    ".hdf5": keras_signature,
    ".tflite": tflite_signature,
    ".lite": tflite_signature,
    ".onnx": onnx_signature,
    ".pt2": torch_signature,
}

#: Of the files whose signature is read.
MODEL_SUFFIXES = tuple(_READERS)


def read_signature(path: Path) -> Signature:
    """What a model file takes and gives, by its suffix.

    The file is read in a process of its own, which a crafted one can crash or hold up.

    Raises:
        UserError: missing, damaged, too large, or of a format whose signature is not read; the
            message says what it is, and what leads on.
        ModelCrashError: reading it ended the process.
        ModelHangError: reading it took too long.
    """
    require_model_bytes(path)
    if path.suffix not in _READERS and path.suffix.lower() in _READERS:
        raise UserError(f"{path}: write its suffix in small letters, {path.suffix.lower()}")
    if path.suffix not in _READERS:
        raise UserError(
            f"{path}: the suffix {path.suffix!r} is of no model format that is read here "
            f"(known: {', '.join(sorted(_READERS))})"
        )
    require_file(path, "model file")
    there = path.stat()
    return _read(path, (there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns))


@lru_cache(maxsize=100)
def _read(path: Path, file: tuple[int, ...]) -> Signature:
    """A file's signature, read once for as long as the file stays the same."""
    model = IsolatedModel(path, served_signature, [str(path)], patience=_SECONDS)
    with closing(model), name_file_in_errors(path):
        return record_from(Signature, model.facts)


def served_signature(path: str) -> Served:
    """A signature as the facts of a model that answers to nothing, for the other process."""
    return asdict(_READERS[Path(path).suffix](Path(path))), lambda _: []
