"""What the two files and the inputs tell without a run: whether they fit, and their kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from asterism.asking.request import VetRequest
from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import unknown
from asterism.data.given.kind import INPUT_KINDS
from asterism.data.given.reading import Arrays, files_of, kind_of, type_of_arrays
from asterism.models.signatures.signature import Signature, TensorSpec, kind_of_inputs

#: Rows of a table that bytes index, without and with those of further signs.
_BYTES, _BYTES_AND_SIGNS = 256, 384


def require_pair(request: VetRequest, signature: Signature, other: Signature) -> None:
    """Reject models whose main inputs do not fit together, or are no numbers."""
    one, two = signature.given[0], other.given[0]
    if one.dtype == "object":
        raise UserError(
            f"{request.original} takes texts ({one}), which cannot be changed here: cut off the "
            "part of the graph that turns them into numbers, and give these"
        )
    sizes = list(zip(one.shape[1:], two.shape[1:], strict=False))
    same = all(None in pair or pair[0] == pair[1] for pair in sizes)
    fit = len(one.shape) == len(two.shape) and same
    if not fit and len(one.shape) != 4:  # the layouts of images may differ
        raise UserError(
            f"{request.original} takes {one}, but {request.compressed} takes {two}: they are no "
            "pair"
        )


def _takes_bytes(kind: str, spec: TensorSpec) -> bool:
    """Whether a main input may take bytes: integers up to 255 or few more, or rows of numbers."""
    if kind == "tokens":
        return _BYTES <= spec.rows <= _BYTES_AND_SIGNS
    return kind == "bytes" or (kind == "tensors" and len(spec.shape) == 3)


def told_of(signature: Signature) -> str:
    """What a model takes and gives, for the terminal."""
    takes, gives = (", ".join(map(str, specs)) for specs in (signature.given, signature.answers))
    return f"takes {takes}; gives {gives}"


def kind_of_request(request: VetRequest, signature: Signature) -> tuple[str, str]:
    """The kind of inputs, and where it was known from."""
    if request.kind is not None:
        if request.kind not in INPUT_KINDS:
            raise unknown("kind of inputs", request.kind, list(INPUT_KINDS))
        return request.kind, f"kind {request.kind}, as was asked"
    by_model, why = kind_of_inputs(signature)
    told = f"kind {by_model}: {why} (another: --kind)"
    inputs = request.inputs
    if isinstance(inputs, Arrays):
        dtype: np.dtype[Any] | None = inputs.items.dtype
    else:
        files = files_of(inputs)
        by_files = kind_of(files)
        if by_files == "bytes" and not _takes_bytes(by_model, signature.given[0]):
            how = "turn texts into rows of tokens" if by_model == "tokens" else "convert it"
            raise UserError(
                f"{request.original} takes {signature.given[0]}, and {files[0].name} is no .npy, "
                f".npz, .png, .jpg or .wav file: {how}, or say --kind bytes if its bytes are meant"
            )
        if by_files is not None:
            return by_files, f"kind {by_files}, by the inputs' file names (another: --kind)"
        dtype = type_of_arrays(files[0])
    if by_model == "images" and dtype not in (None, np.uint8):
        return "tensors", "kind tensors: they are no bytes, as pictures are (another: --kind)"
    return by_model, told
