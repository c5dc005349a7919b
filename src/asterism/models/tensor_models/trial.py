"""Trying a model file once: whether the runtime that vetting uses opens it and runs it."""

from __future__ import annotations

from contextlib import closing
from functools import lru_cache
from pathlib import Path

import numpy as np

from asterism.core.messages.errors import UserError, extract_reason
from asterism.models.formats import open_runtime
from asterism.models.isolated_model import IsolatedModel, Served
from asterism.models.signatures.reading import read_signature
from asterism.models.signatures.signature import Signature, TensorSpec


def require_runs(path: Path, named: Path | None = None) -> None:
    """Reject a model file that cannot be opened, or cannot be run.

    It is opened in a process of its own, as vetting does. Where the file leaves no size free but
    the batch it is run once, on zeros; of other files only the given inputs tell whether it runs.

    Args:
        path: the file.
        named: what the message calls it; None for its path.

    Raises:
        UserError: its signature cannot be read, it cannot be opened, or it fails; the message says
            why.
    """
    try:
        read_signature(path)
        there = path.stat()
        if fault := _fault(path, (there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns)):
            raise UserError(fault)
    except UserError as error:
        raise UserError(str(error).replace(str(path), str(named or path))) from None


@lru_cache(maxsize=100)
def _fault(path: Path, file: tuple[int, ...]) -> str:
    """What is wrong, found once for as long as the file stays the same; empty for nothing."""
    try:
        with closing(IsolatedModel(path, serve_tried_model, [str(path)])):
            return ""
    except UserError as error:
        said = str(error)
        return said if str(path) in said else f"{path}: {said}"


def serve_tried_model(path: str) -> Served:
    """A model that was opened and, where its sizes are known, run: for the other process.

    Raises:
        UserError: it cannot be.
    """
    runtime = open_runtime(Path(path))
    signature = runtime.signature
    if signature.given and not _has_free_sizes(signature):
        batch = runtime.fixed_batch or 1
        try:
            runtime.run(
                {
                    spec.name: np.zeros([size or batch for size in spec.shape], spec.dtype)
                    for spec in signature.inputs
                }
            )
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"{path} cannot be run: {extract_reason(str(error))}") from None
    return {}, lambda _: []


def _has_free_sizes(signature: Signature) -> bool:
    """Whether an input has a free size that is not the batch."""
    main = signature.given[0]
    batch = main.dims[0] if main.dims else ""
    return any(
        size is None and axis > 0 and not (batch and _name(spec, axis) == batch)
        for spec in signature.inputs
        for axis, size in enumerate(spec.shape)
    )


def _name(spec: TensorSpec, axis: int) -> str:
    return spec.dims[axis] if spec.dims else ""
