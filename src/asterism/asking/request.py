"""What is asked of a pair, and what follows without a run of its models.

The request says what the command line, or the caller, has given. Files and inputs tell whether they
fit, their kind, and special tokens; the names in the original tell what its further inputs hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import unknown
from asterism.data.given import ArrayInputs, infer_kind, list_input_files, read_input_dtype
from asterism.data.kinds import INPUT_KINDS
from asterism.dvc_hydra.overrides import hydra_value
from asterism.models.signatures.signature import (
    ROLES,
    SEGMENTS,
    Signature,
    TensorSpec,
    infer_role,
    kind_of_inputs,
)
from asterism.models.tensor_models.feeding import NO_PADDING
from asterism.models.tensor_models.subjects import Subject, subject_of
from asterism.vetting.opening import GivenPair

#: A further input gets a number, or what it is to the tokens.
FurtherInputs: TypeAlias = Mapping[str, float | str]
_Form: TypeAlias = tuple[str, int, int]


@dataclass(frozen=True, kw_only=True)
class VetRequest:
    """What the command line asks for; files are looked at to settle what is None.

    Attributes:
        original: the original, or its file.
        compressed: the compressed model, or its file.
        inputs: a file, a folder, or arrays.
        kind: the kind of the inputs.
        comparison: the comparison of the outputs.
        options: the options of the comparison.
        labels: a file of labels.
        preprocessing: a choice of ``conf/preprocessing``, for images.
        constants: ``NAME=NUMBER`` or ``NAME=ROLE``, values of further inputs.
        minutes: the minutes that the answer may take.
        overrides: further overrides of Hydra.
        earlier: the certificate of an earlier run, which may have left something out of the same
            question; there may be no such file.
    """

    original: Path | Subject
    compressed: Path | Subject
    inputs: Path | ArrayInputs
    kind: str | None = None
    comparison: str | None = None
    options: Mapping[str, Any] | None = None
    labels: Path | None = None
    preprocessing: str | None = None
    constants: Sequence[str] = ()
    minutes: float | None = None
    overrides: Sequence[str] = ()
    earlier: Path | None = None

    @property
    def given(self) -> GivenPair:
        """The pair and its inputs, as they were given."""
        return GivenPair(subject_of(self.original), subject_of(self.compressed), self.inputs)

    def words(self) -> list[str]:
        """The options of the command line besides the files, to ask the same question again."""
        flags = {
            "--kind": self.kind,
            "--comparison": self.comparison,
            "--preprocessing": self.preprocessing,
            "--minutes": None if self.minutes is None else f"{self.minutes:g}",
        }
        found = [word for flag, told in flags.items() if told for word in (flag, told)]
        overrides = list(self.overrides)
        if self.options is not None:  # there is no flag for them
            options = f"+vet.comparison.options={hydra_value(self.options)}"
            overrides = ["~vet.comparison.options", options, *overrides]
        for flag, several in (("--constant", self.constants), ("-S", overrides)):
            found += [word for told in several for word in (flag, told)]
        return found

    def settles(self, key: str) -> bool:
        """Whether an override of the command line sets a parameter."""
        keys = [override.partition("=")[0].lstrip("+~") for override in self.overrides]
        return any(own == key or own.startswith(f"{key}.") for own in keys)


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
    """A model's inputs and outputs as a text for the terminal."""
    takes, gives = (", ".join(map(str, specs)) for specs in (signature.given, signature.answers))
    return f"takes {takes}; gives {gives}"


def resolve_kind(request: VetRequest, signature: Signature) -> tuple[str, str]:
    """The kind of inputs, and how it was found out."""
    if request.kind is not None:
        if request.kind not in INPUT_KINDS:
            raise unknown("kind of inputs", request.kind, list(INPUT_KINDS))
        return request.kind, f"kind {request.kind}, as was asked"
    by_model, why = kind_of_inputs(signature)
    told = f"kind {by_model}: {why} (another: --kind)"
    inputs = request.inputs
    if isinstance(inputs, ArrayInputs):
        dtype: np.dtype[Any] | None = inputs.items.dtype
    else:
        files = list_input_files(inputs)
        by_files = infer_kind(files)
        if by_files == "bytes" and not _takes_bytes(by_model, signature.given[0]):
            how = "turn texts into rows of tokens" if by_model == "tokens" else "convert it"
            raise UserError(
                f"{request.original} takes {signature.given[0]}, and {files[0].name} is no .npy, "
                f".npz, .png, .jpg or .wav file: {how}, or say --kind bytes if its bytes are meant"
            )
        if by_files is not None:
            return by_files, f"kind {by_files}, by the inputs' file names (another: --kind)"
        dtype = read_input_dtype(files[0])
    if by_model == "images" and dtype not in (None, np.uint8):
        return "tensors", "kind tensors: they are no bytes, as pictures are (another: --kind)"
    return by_model, told


def find_padding_token(items: NDArray[Any], usual: int) -> int | None:
    """The padding token: the one that most often occurs more than once at the end of a text.

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


def resolve_padding(items: NDArray[Any]) -> tuple[int, str]:
    """The padding that models get, and a sentence about it."""
    pad = find_padding_token(items, 0)
    if pad is None:
        return NO_PADDING, "no text is padded: the token 0 occurs between others"
    return pad, f"texts are padded with the token {pad}"


def find_special_tokens(items: NDArray[Any], padding: int) -> list[int]:
    """Tokens with which every text begins or ends, such as the marks of a sentence's ends."""
    if len(items) < _FEWEST:
        return []
    there = items != padding
    lengths = np.maximum(there.shape[1] - there[:, ::-1].argmax(axis=1), 1)
    ends = items[:, 0], items[np.arange(len(items)), lengths - 1]
    same = {int(tokens[0]) for tokens in ends if (tokens == tokens[0]).all()}
    return sorted(same - {padding})


def parse_further_inputs(texts: Sequence[str]) -> FurtherInputs:
    """The further inputs that ``NAME=NUMBER`` and ``NAME=ROLE`` describe, by name.

    Raises:
        UserError: a text says neither.
    """
    return dict(map(_parse_further_input, texts))


def _parse_further_input(text: str) -> tuple[str, float | str]:
    name, _, value = text.rpartition("=")
    if value in ROLES:
        return name, value
    try:
        return name, float(value)
    except ValueError:
        raise UserError(
            f"--constant {text!r}: give NAME=NUMBER, or NAME={', '.join(ROLES[:-1])} or {ROLES[-1]}"
        ) from None


def infer_roles(original: Signature, compressed: Signature, told: FurtherInputs) -> dict[str, str]:
    """Roles of the compressed model's inputs with unclear names, taken from the original's.

    Only where nothing is guessed: the main input differs from all others in form, and so does an
    input that takes a role. Everything else is asked.

    Args:
        original, compressed: what the models take.
        told: of further inputs, by their names.
    """
    main, *others = compressed.given
    if any(_form(main) == _form(spec) for spec in others):
        return {}
    named = {_role(spec, told) for spec in others}
    missing = [
        (_form(spec), role)
        for spec in original.given[1:]
        if (role := _role(spec, told)) is not None and role not in named
    ]
    unnamed = [
        (_form(spec), spec.name)
        for spec in others
        if spec.name not in told and infer_role(spec.name) is None
    ]
    roles = _of_one_form(missing)
    return {name: roles[form] for form, name in _of_one_form(unnamed).items() if form in roles}


def _of_one_form(pairs: Sequence[tuple[_Form, str]]) -> dict[_Form, str]:
    """What has a form that nothing else has."""
    counts = Counter(form for form, _ in pairs)
    return {form: value for form, value in pairs if counts[form] == 1}


def _role(spec: TensorSpec, told: FurtherInputs) -> str | None:
    """What an input is to the tokens; None where it is a number, or where nothing tells."""
    value = told.get(spec.name)
    return infer_role(spec.name) if value is None else value if isinstance(value, str) else None


def _form(spec: TensorSpec) -> _Form:
    """What tells inputs apart whose names tell nothing."""
    kind = np.dtype(spec.dtype).kind if spec.dtype in np.sctypeDict else spec.dtype
    return kind, len(spec.shape), min(spec.rows, SEGMENTS + 1)
