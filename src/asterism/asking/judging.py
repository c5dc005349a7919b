"""The settled request to judge a test set: which lane judges it, and on which files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from asterism.asking.lanes import IMPORTANCE, RECURRENT, uses
from asterism.core.files.user_files import whole_path
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.overrides import hydra_text
from asterism.models.signatures.reading import read_signature


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
    """What the command line asks for.

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
class SettledJudging:
    """The run that judges a test set.

    Attributes:
        lane: that judges it.
        overrides: of Hydra.
        said: what was found out about the files, one line each.
    """

    lane: JudgingLane
    overrides: list[str]
    said: tuple[str, ...]


def settle_judging(asked: JudgeRequest, conf: Path) -> SettledJudging:
    """The lane that judges the tests of a model, and the overrides of Hydra for it.

    Args:
        asked: the command line's.
        conf: the project's tree of configuration.

    Raises:
        UserError: the model cannot be read, no lane can judge its tests, or there are no such data.
    """
    found = {use.lane: use for use in uses(asked.model, read_signature(asked.model))}
    name = next((name for name in _LANES if found[name].possible), None)
    if name is None:
        reasons = "; ".join(f"{name}: {found[name].how}" for name in _LANES)
        raise UserError(f"the tests of {asked.model} cannot be judged: {reasons}")
    lane, group = _LANES[name], "classifier" if name == IMPORTANCE else "rnn"
    overrides = [
        f"{group}=file",
        f"{group}.path={hydra_text(str(whole_path(asked.model)))}",
        *_data(asked.data, conf),
    ]
    if asked.preprocessing is not None:
        overrides.append(f"preprocessing={asked.preprocessing}")
    return SettledJudging(lane, [*overrides, *asked.overrides], (f"{name}: {lane.question}",))


def _data(told: str, conf: Path) -> list[str]:
    """The overrides that choose the data."""
    path = Path(told)
    if path.exists():
        return [
            f"data={'folder' if path.is_dir() else 'npz'}",
            f"data.path={hydra_text(str(whole_path(path)))}",
        ]
    known = sorted(
        file.stem for file in (conf / "data").glob("*.yaml") if file.stem not in ("npz", "folder")
    )
    if told not in known:
        raise UserError(f"there is no file or folder {told}; known data are {', '.join(known)}")
    return [f"data={told}"]
