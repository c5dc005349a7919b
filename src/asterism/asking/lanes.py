"""What each lane can do with a model file, and which lane judges a test set.

Where a lane cannot use a file, it is said what to change. The settled request to judge a test set
names the lane and the files.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from asterism.core.files.user_files import absolute_path
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.overrides import hydra_text
from asterism.models.signatures.reading import read_signature
from asterism.models.signatures.signature import Signature, kind_of_inputs

#: What lanes do that judge test sets.
IMPORTANCE, RECURRENT = "importance-driven coverage", "fuzz a recurrent network"
#: What the lane does that generates models from a given one.
_SEED = "seed for testing libraries"

#: The formats of model files, for what does not read all of them.
FORMATS_OF = {IMPORTANCE: ("keras",), RECURRENT: ("keras", "onnx", "torch"), _SEED: ("keras",)}


@dataclass(frozen=True)
class LaneSupport:
    """Whether one lane can use a model.

    Attributes:
        lane: what the lane does.
        possible: whether it can.
        how: the overrides that give it the model; where it cannot, why, and what would change it.
    """

    lane: str
    possible: bool
    how: str


def find_lane_support(
    path: Path, signature: Signature, packed: bool = False, fault: str = ""
) -> list[LaneSupport]:
    """For each lane, whether it can use a model.

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
        return [LaneSupport(lane, False, fault) for lane in lanes]
    found = [LaneSupport(lane, *told(path, signature)) for lane, told in lanes.items()]
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
    if signature.format in ("torch", "onnx"):
        suffix = {"torch": ".pt2", "onnx": ".onnx"}[signature.format]
        told = f"the stages read Keras files; asterism.judge_tests in Python takes {suffix} too"
        return False, told
    if signature.format not in FORMATS_OF[IMPORTANCE]:
        return False, "activations are recorded by the layers of a Keras file (.keras, .h5)"
    reason = _no_image_classifier(signature)
    if reason:
        return False, reason
    return True, f"classifier=file {_override('classifier.path', path)}"


def _recurrent(path: Path, signature: Signature) -> tuple[bool, str]:
    if signature.format not in FORMATS_OF[RECURRENT]:
        return False, "states are read from Keras, ONNX and .pt2 files only"
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


@dataclass(frozen=True)
class JudgingLane:
    """A lane that judges test sets.

    Attributes:
        stage: what measures them.
        section: the lane's part of the report.
        question: what is measured, in words.
        artifacts: folders that the report shows something of.
    """

    stage: str
    section: str
    question: str
    artifacts: tuple[str, ...]

    @property
    def kept(self) -> tuple[str, ...]:
        """Patterns of the files that the page is made from."""
        folders = [f"artifacts/{name}/**/*" for name in self.artifacts]
        return ("params.yaml", "metrics/*", "plots/*/*", *folders)


#: By what the lane does with a model, the first that can use it judges.
_LANES = {
    IMPORTANCE: JudgingLane(
        stage="measure_importance",
        section="importance",
        question="which combinations of important neurons the tests exercise",
        artifacts=("measure_importance",),
    ),
    RECURRENT: JudgingLane(
        stage="measure_coverage",
        section="stateful",
        question="which states and transitions the tests reach",
        artifacts=("build_dtmc", "select_seeds", "fuzz"),
    ),
}


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """What the command line of ``judge-tests`` asks for.

    Attributes:
        model: a classifier's or a recurrent network's file.
        data: an ``.npz``, a folder with ``train/`` and ``test/``, or the name of known data.
        preprocessing: a choice of ``conf/preprocessing``; None for the project's.
        overrides: further overrides of Hydra.
    """

    model: Path
    data: str
    preprocessing: str | None = None
    overrides: Sequence[str] = ()


@dataclass(frozen=True)
class ResolvedJudging:
    """The run that judges a test set.

    Attributes:
        lane: the lane that judges it.
        overrides: the overrides of Hydra.
        said: what was found out about the files, one line each.
    """

    lane: JudgingLane
    overrides: list[str]
    said: tuple[str, ...]


def resolve_judging(asked: JudgeRequest, conf: Path) -> ResolvedJudging:
    """The lane that judges the tests of a model, and the overrides of Hydra for it.

    Args:
        asked: the command line's.
        conf: the project's tree of configuration.

    Raises:
        UserError: the model cannot be read, no lane can judge its tests, or there are no such data.
    """
    found = {use.lane: use for use in find_lane_support(asked.model, read_signature(asked.model))}
    name = next((name for name in _LANES if found[name].possible), None)
    if name is None:
        reasons = "; ".join(f"{name}: {found[name].how}" for name in _LANES)
        raise UserError(f"the tests of {asked.model} cannot be judged: {reasons}")
    lane, group = _LANES[name], "classifier" if name == IMPORTANCE else "rnn"
    overrides = [
        f"{group}=file",
        f"{group}.path={hydra_text(str(absolute_path(asked.model)))}",
        *_data(asked.data, conf),
    ]
    if asked.preprocessing is not None:
        overrides.append(f"preprocessing={asked.preprocessing}")
    return ResolvedJudging(lane, [*overrides, *asked.overrides], (f"{name}: {lane.question}",))


def _data(told: str, conf: Path) -> list[str]:
    """The overrides that choose the data."""
    path = Path(told)
    if path.exists():
        return [
            f"data={'folder' if path.is_dir() else 'npz'}",
            f"data.path={hydra_text(str(absolute_path(path)))}",
        ]
    known = sorted(
        file.stem for file in (conf / "data").glob("*.yaml") if file.stem not in ("npz", "folder")
    )
    if told not in known:
        raise UserError(f"there is no file or folder {told}; known data are {', '.join(known)}")
    return [f"data={told}"]
