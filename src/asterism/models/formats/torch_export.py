"""Models that ``torch.export.save`` wrote (``.pt2``).

``torch.export.load`` unpickles parts of the archive, evaluates its symbolic sizes as Python
expressions and calls whatever torch function a node names. So the archive is inspected first, and
refused where anything in it could run code of its own.
"""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from asterism.core.errors import UserError
from asterism.models.formats import FORMATS, Batch, Format
from asterism.models.formats.layout import Layout, require_vector

_SAFE_TARGET = re.compile(
    r"torch\.ops\.(aten|prims|quantized_decomposed)\.\w+(\.\w+)?"
    r"|_operator\.(getitem|add|sub|mul|floordiv|truediv|mod|neg|pow|eq|ne|lt|le|gt|ge)"
)
_SYMBOL = re.compile(r"Symbol\('[a-z]{1,3}\d+'(, (positive|nonnegative|integer)=True)*\)")
_SAFE_NAME = re.compile(r"[a-z]{1,3}\d+|Max|Min|Mod|FloorDiv|CleanDiv|CeilToInt|Integer|oo|int_oo")
_FORBIDDEN_FOLDERS = ("data/aotinductor/", "data/constants/custom_obj", "data/constants/opaque_obj")


class TorchRuntime:
    """An exported PyTorch program on the CPU."""

    def __init__(self, path: Path) -> None:
        import torch

        _inspect(path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = torch.export.load(path)
        except Exception as error:  # whatever a foreign file makes PyTorch raise
            reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
            raise UserError(f"PyTorch cannot open {path}: {reason}") from None
        self._torch = torch
        # Checks of the input would be compiled from text in the file.
        self._module = program.module(check_guards=False)
        names = set(program.graph_signature.user_inputs)
        shapes = [
            [size if isinstance(size, int) else None for size in node.meta["val"].shape]
            for node in program.graph.nodes
            if node.name in names
        ]
        if len(shapes) != 1:
            raise UserError(f"{path} has {len(shapes)} inputs; a classifier has one")
        self._layout = Layout(shapes[0], path)
        self.input_shape = self._layout.input_shape
        # PyTorch's kernels give other last bits for other batch sizes, as TensorFlow's do.
        self.fixed_batch: int | None = self._layout.fixed_batch or 32
        self.notes: tuple[str, ...] = (f"runs in PyTorch, in batches of {self.fixed_batch}",)
        probe = self.run(np.zeros((self.fixed_batch, *self.input_shape), np.float32))
        self.outputs = require_vector(probe.shape, path)
        self.output_step = 0.0

    def run(self, batch: Batch) -> Batch:
        """See :meth:`asterism.models.formats.Runtime.run`."""
        with self._torch.inference_mode():
            outputs = self._module(self._torch.from_numpy(self._layout.adapt(batch)))
        first = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
        values: Batch = first.to(self._torch.float32).numpy()
        return values


@FORMATS.register("torch")
class TorchExport(Format):
    """An archive of ``torch.export.save``; pickled models (``.pt``, ``.pth``) are not read."""

    suffixes: ClassVar[tuple[str, ...]] = (".pt2",)

    @staticmethod
    def recognises(head: bytes, path: Path) -> bool:
        """A zip archive."""
        return path.suffix == ".pt2" and head[:4] == b"PK\x03\x04"

    @staticmethod
    def open(path: Path) -> TorchRuntime:
        """See :meth:`asterism.models.formats.Format.open`."""
        return TorchRuntime(path)


def _inspect(path: Path) -> None:
    """Refuse an archive that could run code while it is opened or run.

    Raises:
        UserError: it could, or it is no such archive.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name.partition("/")[2]: name for name in archive.namelist()}
            _inspect_names(files, path)
            for inner, name in files.items():
                if inner.endswith(".json"):
                    _inspect_document(json.loads(archive.read(name)), path)
                elif inner.startswith("data/sample_inputs/"):
                    _inspect_pickle(archive.read(name), path)
    except (zipfile.BadZipFile, ValueError, KeyError) as error:
        raise UserError(f"{path} is no archive of torch.export.save: {error}") from None


def _inspect_names(files: dict[str, str], path: Path) -> None:
    if not any(name.startswith("models/") for name in files):
        raise UserError(
            f"{path} is no archive of torch.export.save (pickled models are not read: export "
            "yours with torch.export)"
        )
    for name in files:
        compiled = any(name.startswith(folder) for folder in _FORBIDDEN_FOLDERS)
        pickled = name.startswith(("data/weights/", "data/constants/")) and name.endswith(".pt")
        if compiled or pickled:
            raise UserError(f"{path} holds {name}, which could run foreign code: not opened")


def _inspect_document(document: Any, path: Path) -> None:
    for key, value in _entries(document):
        bad = (
            (key == "use_pickle" and value is not False)
            or (key == "target" and isinstance(value, str) and not _SAFE_TARGET.fullmatch(value))
            or (key == "expr_str" and not _is_arithmetic(value))
        )
        if bad:
            raise UserError(
                f"{path} holds {key}={value!r}, which could run foreign code: not opened"
            )


def _is_arithmetic(expression: Any) -> bool:
    text = _SYMBOL.sub("s0", str(expression))
    names = re.findall(r"[A-Za-z_]\w*", text)
    return bool(re.fullmatch(r"[\w\s+*/(),.-]*", text)) and all(map(_SAFE_NAME.fullmatch, names))


def _inspect_pickle(content: bytes, path: Path) -> None:
    import torch

    if not content:
        return
    try:
        torch.load(io.BytesIO(content), weights_only=True)
    except Exception:
        raise UserError(f"the sample inputs in {path} could run foreign code: not opened") from None


def _entries(document: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield key, value
            yield from _entries(value)
    elif isinstance(document, list):
        for value in document:
            yield from _entries(value)
