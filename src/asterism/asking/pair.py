"""What files and inputs tell without a run: whether they fit, their kind, and special tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.asking.request import VetRequest
from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import unknown
from asterism.data.given.kind import INPUT_KINDS
from asterism.data.given.reading import Arrays, files_of, kind_of, type_of_arrays
from asterism.models.signatures.signature import Signature, TensorSpec, kind_of_inputs
from asterism.models.tensor_models.feeding import NO_PADDING

#: Rows of a table that bytes index, without and with those of further signs.
_BYTES, _BYTES_AND_SIGNS = 256, 384
#: So many texts have to show something before it is taken for a rule.
_FEWEST = 5


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


def describe_signature(signature: Signature) -> str:
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


def padding_of(items: NDArray[Any], usual: int) -> int | None:
    """The token that fills texts up: the one that most often ends them more than once.

    Where none does, that is the usual one, unless it stands between other tokens: then it is a
    token as any other, and no text is filled up.
    """
    ends = items[items[:, -1] == items[:, -2], -1] if items.shape[1] > 1 else items[:0, 0]
    if len(ends) >= max(1, len(items) // 10):
        values, counts = np.unique(ends, return_counts=True)
        return int(values[counts.argmax()])
    others = items != usual
    before, behind = (np.logical_or.accumulate(rows, axis=1) for rows in (others, others[:, ::-1]))
    return None if (before & behind[:, ::-1] & ~others).any() else usual


def told_padding(items: NDArray[Any]) -> tuple[int, str]:
    """What models get for padding, and what is said of it."""
    pad = padding_of(items, 0)
    if pad is None:
        return NO_PADDING, "no text is padded: the token 0 occurs between others"
    return pad, f"texts are padded with the token {pad}"


def special_tokens(items: NDArray[Any], padding: int) -> list[int]:
    """Tokens that begin or end every text, such as those of a sentence's ends."""
    if len(items) < _FEWEST:
        return []
    there = items != padding
    lengths = np.maximum(there.shape[1] - there[:, ::-1].argmax(axis=1), 1)
    ends = items[:, 0], items[np.arange(len(items)), lengths - 1]
    same = {int(tokens[0]) for tokens in ends if (tokens == tokens[0]).all()}
    return sorted(same - {padding})
