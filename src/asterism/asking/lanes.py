"""What each lane of the pipeline can do with a model file, and what to change where it cannot."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from asterism.dvc_hydra.overrides import hydra_text
from asterism.models.signatures.signature import Signature, kind_of_inputs

#: What lanes do that judge test sets.
IMPORTANCE, RECURRENT = "importance-driven coverage", "fuzz a recurrent network"
#: What the lane does that generates models from a given one.
_SEED = "seed for testing libraries"

#: The formats of model files, for what does not read all of them.
FORMATS_OF = {IMPORTANCE: ("keras",), RECURRENT: ("keras", "onnx"), _SEED: ("keras",)}


@dataclass(frozen=True)
class LaneUse:
    """Whether one lane can use a model.

    Attributes:
        lane: what the lane does.
        possible: whether it can.
        how: the overrides that give it the model; where it cannot, why, and what would change it.
    """

    lane: str
    possible: bool
    how: str


def uses(path: Path, signature: Signature, packed: bool = False, fault: str = "") -> list[LaneUse]:
    """What each lane can do with a model.

    Args:
        path: its file.
        signature: what it takes and gives.
        packed: whether it keeps data in other files, which a command packs and a stage does not.
        fault: why it cannot be opened; empty where it can.
    """
    lanes: dict[str, Callable[[Path, Signature], tuple[bool, str]]] = {
        "vet a compressed version": _vet,
        "search a pair of image classifiers": _pair,
        IMPORTANCE: _importance,
        RECURRENT: _recurrent,
        _SEED: _libraries,
    }
    if fault:
        return [LaneUse(lane, False, fault) for lane in lanes]
    found = [LaneUse(lane, *told(path, signature)) for lane, told in lanes.items()]
    if packed:
        whole = shlex.join(["asterism", "pack", str(path), f"{path.stem}-whole.onnx"])
        first = f"it keeps data in other files: make one file of it by `{whole}`"
        rest = (replace(u, possible=False, how=first) if u.possible else u for u in found[1:])
        return [found[0], *rest]
    return found


def _vet(path: Path, signature: Signature) -> tuple[bool, str]:
    if not signature.given:
        return False, "it has no input but its own state"
    return True, f"asterism vet {shlex.quote(str(path))} COMPRESSED --inputs FILE_OR_FOLDER"


def _pair(path: Path, signature: Signature) -> tuple[bool, str]:
    reason = _no_image_classifier(signature)
    if reason:
        return False, f"{reason}; vet it instead"
    original = _override("pairs.file.original", path)
    return True, f"pair=file {original} pairs.file.compressed=COMPRESSED"


def _importance(path: Path, signature: Signature) -> tuple[bool, str]:
    if signature.format not in FORMATS_OF[IMPORTANCE]:
        return False, "relevance needs the layers of a Keras file (.keras, .h5)"
    reason = _no_image_classifier(signature)
    if reason:
        return False, reason
    return True, f"classifier=file {_override('classifier.path', path)}"


def _recurrent(path: Path, signature: Signature) -> tuple[bool, str]:
    if signature.format not in FORMATS_OF[RECURRENT]:
        return False, "states are read from Keras and ONNX files only"
    axes = [len(spec.shape) for spec in signature.inputs]
    if axes not in ([2], [3]):
        return False, (
            "it takes no sequences: vectors (batch, steps, features), such as the rows of images, "
            "or numbers (batch, steps), such as token ids"
        )
    if not signature.recurrent:
        return False, "it has no recurrent layer"
    return True, f"rnn=file {_override('rnn.path', path)}"


def _libraries(path: Path, signature: Signature) -> tuple[bool, str]:
    if signature.format not in FORMATS_OF[_SEED]:
        return False, "seeds are rebuilt from the layers of a Keras file (.keras, .h5)"
    free = {
        spec.name: ",".join("SIZE" if size is None else str(size) for size in spec.shape[1:])
        for spec in signature.inputs
        if None in spec.shape[1:]
    }
    shapes = ",".join(f"{name}:[{sizes}]" for name, sizes in free.items())
    if free and not _is_plain(path.stem):
        return False, (
            "sizes are given under its name, which an override can hold only where it consists of "
            "letters, digits and _ - . alone: rename it"
        )
    sizes_of = f"reduce.user_input_shape={{{path.stem}:{{{shapes}}}}}"
    more = f" {shlex.quote(sizes_of)}" if free else ""
    return True, f"{_override('reduce.user_model', path)}{more}"


def _override(key: str, path: Path) -> str:
    """An override of a path, quoted for Hydra and for the shell where it has to be."""
    text = str(path)
    return shlex.quote(f"{key}={text if _is_plain(text) else hydra_text(text)}")


def _is_plain(text: str) -> bool:
    """Whether Hydra and a shell take a path or a name as it is."""
    return re.fullmatch(r"[\w./-]+", text, re.ASCII) is not None


def _no_image_classifier(signature: Signature) -> str:
    """Why a model is no classifier of images of one size; empty where it is one."""
    if len(signature.inputs) != 1:
        return f"it has {len(signature.inputs)} inputs, an image classifier has one"
    kind, told = kind_of_inputs(signature)
    if kind != "images":
        return f"it takes no images: {told}"
    if None in signature.inputs[0].shape[1:]:
        return "its images have a free size"
    if signature.outputs and len(signature.outputs[0].shape) not in (0, 2):
        return "its first output is no row of scores"
    return ""
