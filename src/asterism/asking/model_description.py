"""A short description of a model file and of the user's inputs, for which models are opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asterism.asking.lanes import LaneSupport, find_lane_support
from asterism.core.messages.errors import UserError
from asterism.core.messages.escaping import pluralise
from asterism.data.given import (
    ARRAYS,
    class_of_each_file,
    files_of_kind,
    infer_kind,
    list_input_files,
)
from asterism.models.signatures.reading import read_signature, whole_file
from asterism.models.signatures.signature import Signature, TensorSpec, kind_of_inputs
from asterism.models.tensor_models.trial import require_runs

_FORMATS = {
    "onnx": "ONNX",
    "tflite": "LiteRT (TensorFlow Lite)",
    "keras": "Keras",
    "torch": "PyTorch",
}


@dataclass(frozen=True)
class UnreadableFile:
    """A file that is no model, or cannot be read.

    Attributes:
        path: the file.
        fault: what is wrong, and what leads on.
    """

    path: Path
    fault: str


@dataclass(frozen=True)
class ModelDescription:
    """Facts about a model file.

    Attributes:
        path: the file.
        signature: what it takes and gives.
        packed: whether it keeps data in other files.
        fault: why it cannot be opened or run; empty where it can.
    """

    path: Path
    signature: Signature
    packed: bool = False
    fault: str = ""

    @property
    def uses(self) -> list[LaneSupport]:
        """For each lane, whether it can use the model."""
        return find_lane_support(self.path, self.signature, self.packed, self.fault)


def examine_model(path: Path) -> ModelDescription:
    """Read a model file, and open it as vetting does.

    Raises:
        UserError: it is no model, or cannot be read.
    """
    with whole_file(path) as file:
        fault = ""
        try:
            require_runs(file, path)
        except UserError as error:
            fault = str(error)
        try:
            signature = read_signature(file)
        except UserError:
            raise UserError(fault) from None
        return ModelDescription(path, signature, packed=file != path, fault=fault)


def describe_model(looked: ModelDescription | UnreadableFile) -> list[str]:
    """Lines of what ``asterism check`` says of a model file."""
    if isinstance(looked, UnreadableFile):
        return [f"error: {looked.fault}"]
    path, signature = looked.path, looked.signature
    kind, told = kind_of_inputs(signature)
    lines = [f"{path}: {_FORMATS[signature.format]}, {_compression(signature)}"]
    if looked.packed:
        lines.append("  data    also in other files, which are packed with it when it is vetted")
    carried = dict(signature.states)
    for spec in signature.inputs:
        state = f"  state, in the next call {carried[spec.name]}" if spec.name in carried else ""
        lines.append(f"  takes   {spec}{state}")
    lines += [f"  gives   {spec}" for spec in signature.answers]
    if signature.variables:
        lines.append("  state   kept inside the model between calls")
    lines.append(f"  kind    {kind}: {told} (another: --kind)")
    if looked.fault:
        return [*lines, f"  no      it cannot be opened: {looked.fault}"]
    for use in looked.uses:
        lines.append(f"  {'yes' if use.possible else 'no ':4}    {use.lane}: {use.how}")
    return lines


def describe_inputs(path: Path) -> str:
    """What ``asterism check`` says of inputs: how many files, and of which kind.

    Raises:
        UserError: there are none.
    """
    facts = inputs_as_json(path)
    if facts["kind"] is None:
        return f"{path}: arrays of NumPy ({', '.join(ARRAYS)}), whose kind the model tells"
    folders = len(facts["classes"])
    classes = f" in {folders} subfolders, taken for classes" if folders else ""
    return f"{path}: {pluralise(facts['files'], 'file')}{classes}, kind {facts['kind']}"


def examine_models(paths: Sequence[Path]) -> list[ModelDescription | UnreadableFile]:
    """Look at each of several files, whatever is wrong with others."""
    found: list[ModelDescription | UnreadableFile] = []
    for path in paths:
        try:
            found.append(examine_model(path))
        except UserError as error:
            found.append(UnreadableFile(path, str(error)))
    return found


def model_as_json(looked: ModelDescription | UnreadableFile) -> dict[str, Any]:
    """What :func:`describe_model` says, as a JSON value."""
    if isinstance(looked, UnreadableFile):
        return {"file": str(looked.path), "fault": looked.fault}
    signature = looked.signature
    kind, told = kind_of_inputs(signature)
    return {
        "file": str(looked.path),
        "fault": looked.fault,
        "data_in_other_files": looked.packed,
        "format": signature.format,
        "operators": signature.operators,
        "on_integers": signature.quantised,
        "half_precision": signature.half,
        "takes": [_tensor_facts(spec) for spec in signature.inputs],
        "gives": [_tensor_facts(spec) for spec in signature.answers],
        "states": dict(signature.states),
        "state_inside": signature.variables,
        "kind": {"name": kind, "because": told},
        "uses": [asdict(use) for use in looked.uses],
    }


def _tensor_facts(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "dtype": spec.dtype, "shape": list(spec.shape)}


def inputs_as_json(path: Path) -> dict[str, Any]:
    """What :func:`describe_inputs` says, as a JSON value.

    Raises:
        UserError: there are none.
    """
    files = list_input_files(path)
    kind = infer_kind(files)
    folders = [] if kind is None else class_of_each_file(path, files_of_kind(path, kind))
    return {"path": str(path), "files": len(files), "kind": kind, "classes": sorted(set(folders))}


def _compression(signature: Signature) -> str:
    unit = "layers" if signature.format == "keras" else "operators"
    parts = [f"{signature.operators} {unit}"]
    if signature.quantised:
        parts.append(f"{signature.quantised} of them on integers")
    if signature.half:
        parts.append("weights of half precision")
    if signature.streams:
        parts.append("streaming: it carries state from call to call")
    return ", ".join(parts)
