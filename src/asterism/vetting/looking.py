"""What a model file is and what given inputs are, said in a few lines without running anything."""

from __future__ import annotations

from pathlib import Path

from asterism.core.messages.counting import counted
from asterism.data.given.reading import ARRAYS, class_folders, files_of, files_of_kind, kind_of
from asterism.models.signatures.kinds import kind_of_inputs
from asterism.models.signatures.reading import read_signature
from asterism.models.signatures.signature import Signature
from asterism.vetting.lanes import uses

_FORMATS = {"onnx": "ONNX", "tflite": "LiteRT (TensorFlow Lite)", "keras": "Keras"}


def describe_model(path: Path) -> str:
    """What ``asterism check`` says of a model file.

    Raises:
        UserError: it cannot be read.
    """
    signature = read_signature(path)
    kind, told = kind_of_inputs(signature)
    lines = [f"{path}: {_FORMATS[signature.format]}, {_compression(signature)}"]
    carried = dict(signature.states)
    for spec in signature.inputs:
        state = f"  state, in the next call {carried[spec.name]}" if spec.name in carried else ""
        lines.append(f"  takes   {spec}{state}")
    lines += [f"  gives   {spec}" for spec in signature.answers]
    if signature.variables:
        lines.append("  state   kept inside the model between calls")
    lines.append(f"  kind    {kind}: {told} (another: --kind)")
    for use in uses(path, signature):
        lines.append(f"  {'yes' if use.possible else 'no ':4}    {use.lane}: {use.how}")
    return "\n".join(lines)


def describe_inputs(path: Path) -> str:
    """What ``asterism check`` says of inputs: how many files, and of which kind.

    Raises:
        UserError: there are none.
    """
    files = files_of(path)
    kind = kind_of(files)
    if kind is None:
        return f"{path}: arrays of NumPy ({', '.join(ARRAYS)}), whose kind the model tells"
    folders = set(class_folders(path, files_of_kind(path, kind)))
    classes = f" in {len(folders)} subfolders, taken for classes" if folders else ""
    return f"{path}: {counted(len(files), 'file')}{classes}, kind {kind}"


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
