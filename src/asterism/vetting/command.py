"""The overrides of a vetting run, guessed from the files and said aloud."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.user_files import whole_path
from asterism.core.messages.errors import UserError
from asterism.core.parameters.overrides import quoted
from asterism.core.parameters.registry import unknown
from asterism.core.settings.yaml_files import read_yaml
from asterism.data.given.kind import INPUT_KINDS
from asterism.data.given.reading import files_of, has_labels, kind_of
from asterism.models.signatures.kinds import comparison_of_outputs, kind_of_inputs
from asterism.models.signatures.reading import read_signature
from asterism.models.signatures.signature import Signature

#: Preprocessing of images whose models take real numbers, where nothing else is said.
_UNIT = "unit"


@dataclass(frozen=True, kw_only=True)
class VetRequest:
    """What the command line asks for; None is guessed.

    Attributes:
        original: the original's file.
        compressed: the compressed model's.
        inputs: a file or a folder.
        kind: of the inputs.
        comparison: of the outputs.
        options: of the comparison.
        labels: a JSON file.
        preprocessing: a choice of ``conf/preprocessing``, for images.
        constants: ``NAME=NUMBER``, values of further inputs.
        overrides: further overrides of Hydra.
    """

    original: Path
    compressed: Path
    inputs: Path
    kind: str | None = None
    comparison: str | None = None
    options: Mapping[str, Any] | None = None
    labels: Path | None = None
    preprocessing: str | None = None
    constants: Sequence[str] = ()
    overrides: Sequence[str] = ()


def vet_overrides(request: VetRequest, conf: Path) -> tuple[list[str], list[str]]:
    """The overrides of Hydra for a request, and what was guessed, one line each.

    Args:
        request: the command line's.
        conf: the project's tree of configuration.

    Raises:
        UserError: a file cannot be read, the two models take different inputs, or an argument is
            impossible.
    """
    signature, other = read_signature(request.original), read_signature(request.compressed)
    said = [f"{path.name}: {_said(s)}" for path, s in _both(request, signature, other)]
    kind, told = _kind(request, signature)
    said.append(told)
    overrides = [f"vet={kind}"]
    for name in ("original", "compressed", "inputs", "labels"):
        path = getattr(request, name)
        if path is not None:
            overrides.append(f"vet.{name}={quoted(str(whole_path(path)))}")
    compared, told = _comparison(request, signature, kind, conf)
    overrides += compared
    said.append(told)
    if kind == "images":
        values, told = _preprocessing(request, signature, conf)
        overrides += [f"vet.feeding.preprocessing={values}"] if values else []
        said.append(told)
    if request.constants:
        given = ", ".join(map(_constant, request.constants))
        overrides.append(f"vet.feeding.constants=[{given}]")
    return overrides + list(request.overrides), said


def _both(
    request: VetRequest, signature: Signature, other: Signature
) -> list[tuple[Path, Signature]]:
    """Both files with their signatures, whose main inputs fit together."""
    one, two = signature.given[0], other.given[0]
    sizes = list(zip(one.shape[1:], two.shape[1:], strict=False))
    same = all(None in pair or pair[0] == pair[1] for pair in sizes)
    fit = len(one.shape) == len(two.shape) and same
    if not fit and len(one.shape) != 4:  # the layouts of images may differ
        raise UserError(
            f"{request.original} takes {one}, but {request.compressed} takes {two}: they are no "
            "pair"
        )
    return [(request.original, signature), (request.compressed, other)]


def _said(signature: Signature) -> str:
    takes, gives = (", ".join(map(str, specs)) for specs in (signature.given, signature.answers))
    return f"takes {takes}; gives {gives}"


def _kind(request: VetRequest, signature: Signature) -> tuple[str, str]:
    """The kind of inputs, and where it was known from."""
    if request.kind is not None:
        if request.kind not in INPUT_KINDS:
            raise unknown("kind of inputs", request.kind, list(INPUT_KINDS))
        return request.kind, f"kind {request.kind}, as was asked"
    by_files = kind_of(files_of(request.inputs))
    by_model, why = kind_of_inputs(signature)
    if by_files is None:
        return by_model, f"kind {by_model}: {why} (another: --kind)"
    return by_files, f"kind {by_files}, by the inputs' file names (another: --kind)"


def _comparison(
    request: VetRequest, signature: Signature, kind: str, conf: Path
) -> tuple[list[str], str]:
    """Overrides for the comparison of outputs, and what is said of it."""
    composed = [read_yaml(conf / "vet" / f"{name}.yaml") for name in ("none", kind)]
    usual = [part["comparison"]["kind"] for part in composed if "comparison" in part][-1]
    guess, why = comparison_of_outputs(signature, has_labels(request.inputs, kind, request.labels))
    chosen = request.comparison or guess or usual
    if request.comparison is not None:
        told = "as was asked"
    else:
        told = f"{why if guess else f'usual for {kind}'} (another: --comparison)"
    overrides = [f"vet.comparison.kind={chosen}"]
    options = request.options
    if options is None and chosen != usual:
        options = {}  # those of the configuration are another comparison's
    if options is not None:
        overrides += ["~vet.comparison.options", f"+vet.comparison.options={_value(options)}"]
    return overrides, f"outputs are compared by {chosen}: {told}"


def _preprocessing(request: VetRequest, signature: Signature, conf: Path) -> tuple[str, str]:
    """Preprocessing of images as Hydra takes it, and what is said of it."""
    name = request.preprocessing
    if name is None and signature.given[0].dtype == "uint8":
        return "", "no preprocessing: the model takes bytes (another: --preprocessing)"
    known = sorted(path.stem for path in (conf / "preprocessing").glob("*.yaml"))
    chosen = name or _UNIT
    if chosen not in known:
        raise unknown("preprocessing", chosen, known)
    given = read_yaml(conf / "preprocessing" / f"{chosen}.yaml")
    why = "as was asked" if name else "grey levels divided by 255 (another: --preprocessing)"
    return _value(given), f"preprocessing {chosen}: {why}"


def _constant(text: str) -> str:
    """``NAME=NUMBER`` as Hydra takes it."""
    name, _, number = text.rpartition("=")
    try:
        return f"{{input: {quoted(name)}, value: {float(number)}}}"
    except ValueError:
        raise UserError(f"--constant {text!r}: give NAME=NUMBER") from None


def _value(value: Any) -> str:
    """A value of JSON as Hydra's grammar takes it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_value(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return quoted(value) if isinstance(value, str) else json.dumps(value)
