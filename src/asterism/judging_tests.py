"""Judging a test set by one command: which stage runs on which files, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from asterism.core.files.user_files import whole_path
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.overrides import hydra_text
from asterism.models.signatures.reading import read_signature
from asterism.report.base.section import FrontPageAnswer
from asterism.report.whole.page import SECTIONS, write_page
from asterism.sweep.app import SweepRequest
from asterism.sweep.point import KEPT, REPORT, name_own_sweep
from asterism.sweep.points import fitting_name
from asterism.vetting.lanes import IMPORTANCE, RECURRENT, uses


@dataclass(frozen=True)
class _Judge:
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
_JUDGES = {
    IMPORTANCE: _Judge(
        stage="measure_importance",
        section="importance",
        question="which combinations of important neurons the tests exercise",
        artifacts=("measure_importance",),
    ),
    RECURRENT: _Judge(
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
        name: of the experiment; None to make it of the model's.
    """

    model: Path
    data: str
    preprocessing: str | None = None
    overrides: Sequence[str] = ()
    name: str | None = None


@dataclass(frozen=True)
class JudgeRun:
    """The run that judges a test set.

    Attributes:
        request: the sweep of one point.
        section: the part of the report that answers.
        said: what was found out about the files, one line each.
    """

    request: SweepRequest
    section: str
    said: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where the point leaves its results."""
        return Path("sweeps", str(self.request.name), "points/0000")


def judge_run(asked: JudgeRequest, conf: Path) -> JudgeRun:
    """The run for a request.

    Args:
        asked: the command line's.
        conf: the project's tree of configuration.

    Raises:
        UserError: the model cannot be read, no lane can judge its tests, or there are no such data.
    """
    found = {use.lane: use for use in uses(asked.model, read_signature(asked.model))}
    lane = next((lane for lane in _JUDGES if found[lane].possible), None)
    if lane is None:
        reasons = "; ".join(f"{lane}: {found[lane].how}" for lane in _JUDGES)
        raise UserError(f"the tests of {asked.model} cannot be judged: {reasons}")
    judge, group = _JUDGES[lane], "classifier" if lane == IMPORTANCE else "rnn"
    overrides = [
        f"{group}=file",
        f"{group}.path={hydra_text(str(whole_path(asked.model)))}",
        *_data(asked.data, conf),
    ]
    if asked.preprocessing is not None:
        overrides.append(f"preprocessing={asked.preprocessing}")
    request = SweepRequest(
        overrides=[*overrides, *asked.overrides],
        targets=[judge.stage],
        name=asked.name or fitting_name(f"judge-tests-{asked.model.stem}"),
        jobs=2,
        kept=judge.kept,
    )
    return JudgeRun(request, judge.section, (f"{lane}: {judge.question}",))


def write_answers(run: JudgeRun) -> tuple[Path, tuple[FrontPageAnswer, ...]]:
    """Write the page of a run that has finished; the page, and the answers at its beginning.

    Raises:
        UserError: the results are not there.
    """
    page, kept = run.folder / REPORT.name, run.folder / KEPT
    write_page(kept, page, [run.section])
    name_own_sweep(page)
    section = SECTIONS[run.section](kept)
    assert section is not None, "the page has it"
    return page, section.answers


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
