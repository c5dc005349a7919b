"""Mutators by format: functions of a file's bytes, a random source and other files' bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

#: Gives damaged bytes of whole ones.
Mutator = Callable[[bytes, Random, Sequence[bytes]], bytes]


def mutators_of(name: str, content: bytes) -> list[tuple[str, Mutator]]:
    """The mutators that fit a file, by its name and its first bytes, each with its name."""
    from reader_fuzzing.mutators import (
        archives,
        arrays,
        hdf5,
        litert_files,
        onnx_files,
        plain,
        text,
        trees,
    )

    modules = [plain]
    suffix = name.rpartition(".")[2].lower()
    if content[:2] == b"PK":
        modules = [plain, archives, archives, archives]
    elif content[:8] == b"\x89HDF\r\n\x1a\n":
        modules = [plain, hdf5, hdf5]
    elif content[:6] == b"\x93NUMPY":
        modules = [plain, arrays, arrays]
    elif content[:2] == b"\x1f\x8b":
        modules = [plain, archives.gzipped]  # type: ignore[list-item]
    elif suffix == "onnx":
        modules = [plain, onnx_files, onnx_files, onnx_files]
    elif suffix == "tflite":
        modules = [plain, litert_files, litert_files, litert_files]
    elif suffix == "json":
        modules = [plain, trees.json_documents, trees.json_documents, text]  # type: ignore[list-item]
    elif suffix in ("yaml", "lock") or content.startswith(b"cmd: "):  # an entry of the run-cache
        modules = [plain, trees.yaml_documents, trees.yaml_documents, text]  # type: ignore[list-item]
    elif suffix == "csv":
        modules = [plain, text.cells, text]  # type: ignore[list-item]
    return [(f.__name__, f) for module in modules for f in module.MUTATORS]
