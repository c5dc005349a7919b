"""Models as one file each: an ONNX model with its data in other files is packed first."""

from __future__ import annotations

import mmap
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from asterism.core.files.artifacts import replacing
from asterism.core.files.hashes import digest_of
from asterism.core.settings.regular_files import open_regular
from asterism.models.foreign.onnx_files import pack_onnx
from asterism.models.isolation.isolated_model import IsolatedModel, Served

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
        with closing(IsolatedModel(path, packed, [str(path), str(target)])) as made:
            has_others = made.facts["has_others"]
        yield target if has_others else path


def keep_packed(file: Path, folder: Path) -> Path:
    """Where a model stays: a packed one in a folder, by its content; any other where it is."""
    if not file.parent.name.startswith(_PACKED):
        return file
    target = folder / digest_of(file)[:12] / file.name
    if not target.exists():
        with replacing(target) as temporary:
            shutil.copyfile(file, temporary)
    return target.absolute()


def packed(path: str, target: str) -> Served:
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
