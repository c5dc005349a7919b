"""The commands that are disturbed: what each begins with, and what has to be there afterwards."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from faulting import projects

#: Files that differ from run to run, or that DVC and Python keep for themselves.
_OWN = re.compile(
    r"project/(own/)?(\.git|logs|\.dvc/tmp)/|(^|/)__pycache__(/|$)|^(tmp|site)/|\.lock$|"
    r"^project/\.dvc/cache/runs/"
)
_OF_SWEEPS = re.compile(r"^project/sweeps/")

Snapshot = dict[str, str]


@dataclass(frozen=True)
class Target:
    """A command to disturb.

    Attributes:
        name: its row of the table.
        template: which project it works on, of ``projects.TEMPLATES``.
        command: what is typed.
        prepare: brings ``place/project``, a copy of the template, to where the command begins.
        folder: where it runs, below the place.
        stages: stages that it runs, where it is about certain ones.
        inputs: files that it reads, one of which may be taken away.
        checks_status: whether ``dvc status`` has to be clean afterwards.
        experiments: whether it makes experiments, which have to be the same ones.
        statuses: with which it ends undisturbed.
        code: files of this checkout that it runs, beside those that all commands do.
        varies: pattern of the files that differ from run to run: it has to leave them, no more.
        apart: pattern of the files whose names differ too, and that do not count.
    """

    name: str
    template: str
    command: tuple[str, ...]
    prepare: Callable[[Path], None]
    inputs: Callable[[Path], list[Path]]
    folder: str = "project"
    stages: tuple[str, ...] = ()
    checks_status: bool = True
    experiments: bool = False
    statuses: tuple[int, ...] = (0,)
    code: tuple[str, ...] = ()
    varies: str | None = None
    apart: str | None = None
    limit: float = field(default=600.0)

    @property
    def is_stage(self) -> bool:
        """Whether it is one stage, whose output tells when its work begins and ends."""
        return bool(self.stages)

    @property
    def is_asterism(self) -> bool:
        """Whether it is the command line, rather than DVC or Make."""
        return "from asterism.cli import main" in " ".join(self.command)

    def snapshot(self, place: Path) -> Snapshot:
        """What the command has left: by path the content's hash, or what it is."""
        found = {}
        for path in sorted(place.rglob("*")):
            name = path.relative_to(place).as_posix()
            if _OWN.search(name + "/" * path.is_dir()) or path.is_symlink():
                continue
            if self.experiments and _OF_SWEEPS.match(name):
                continue
            if self.apart is not None and re.search(self.apart, name):
                continue
            varies = self.varies is not None and re.search(self.varies, name)
            found[name] = "folder" if path.is_dir() else "file" if varies else _digest(path)
        if self.experiments:
            found |= _experiments(place)
        return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _experiments(place: Path) -> Snapshot:
    """The trees of all experiments' commits, by name: what they hold, without the time."""
    listed = projects.call(
        place, place / "project", "git", "for-each-ref", "--format=%(refname) %(tree)", "refs/exps"
    )
    names = [line.split() for line in listed.splitlines() if not line.startswith("refs/exps/exec")]
    return {re.sub(r"/[0-9a-f]{2}/[0-9a-f]{38}/", "/", name): tree for name, tree in names}


def _one_stage(stage: str) -> Target:
    return Target(
        name=stage,
        template="real",
        command=projects.asterism("repro", stage),
        prepare=lambda place: projects.forget(place / "project", [stage]),
        inputs=lambda place: projects.dependencies(place / "project", [stage]),
        stages=(stage,),
    )


def _forget_lane(place: Path) -> None:
    """The stateful lane's later stages and the report: eight, some of them side by side."""
    lane = re.compile(r"build_dtmc|select_seeds|fuzz@|measure_coverage|report")
    lock = yaml.safe_load((place / "project/dvc.lock").read_text(encoding="utf-8"))
    projects.forget(place / "project", [name for name in lock["stages"] if lane.match(name)])


def _source(place: Path) -> list[Path]:
    return [place / "project/params.yaml", place / "project/conf/no_file"]


def _objects(store: str) -> Callable[[Path], list[Path]]:
    """Objects of a cache or a remote."""
    return lambda place: sorted((place / store / "files/md5").glob("??/*"))


def _whole(name: str, command: tuple[str, ...]) -> Target:
    return Target(name, "light", command, _forget_lane, _source)


def _make(goal: str) -> tuple[str, ...]:
    return ("make", "-o", ".venv/.installed", goal)


def _with_remote(place: Path) -> None:
    """Many files beside the results, and a folder as a remote."""
    project, store = place / "project", place / "store"
    many = project / "many"
    many.mkdir()
    for number in range(1500):
        (many / str(number)).write_text(str(number) * 100, encoding="utf-8")
    projects.call(place, project, "dvc", "add", "--quiet", "many")
    store.mkdir()
    projects.call(place, project, *_make("remote"), f"URL={store}")
    projects.commit(place, "remote")


def _clone_to_pull(place: Path) -> None:
    _with_remote(place)
    projects.call(place, place / "project", *_make("push"))
    projects.call(place, place, "git", "clone", "--quiet", "project", "clone")
    shutil.rmtree(place / "project")
    (place / "clone").rename(place / "project")


_STAGES = (
    "train_rnn",
    "fuzz@state",
    "train_classifier",
    "compress@pruned",
    "compress@distilled",
    "trigger@pruned",
    "repair@pruned",
    "attack",
    "measure_importance",
    "generate_models",
    "execute_models",
    "triage_findings",
)


def _models(name: str, *words: str, **given: Any) -> Target:
    """A command in a new project with a small vetted pair."""
    return Target(
        name=f"asterism {name}",
        template="new",
        command=projects.asterism(*words),
        prepare=given.pop("prepare", lambda place: None),
        inputs=lambda place: [],
        checks_status=False,
        code=("src/asterism",),
        **given,
    )


def _empty(place: Path) -> None:
    """Nothing is there but an empty folder."""
    shutil.rmtree(place / "project")
    (place / "project").mkdir()


def _with_a_finding(place: Path) -> None:
    """One finding of the collection is there."""
    folders = sorted(path.parent for path in (projects.ROOT / "findings").glob("*/finding.json"))
    target = place / "project/findings" / folders[0].name
    shutil.copytree(folders[0], target, dirs_exist_ok=True)


_PAIR = ("demo/digits.onnx", "demo/digits-int8.onnx", "--inputs", "demo/photos")

#: Commands that need no results, each as small as it can be.
_COMMANDS = (
    _models("doctor", "doctor", statuses=(0, 1)),
    # Once it is made, it cannot be made again.
    _models("new", "new", "own", statuses=(0, 1), prepare=_empty),
    _models("check", "check", *_PAIR),
    _models("check, of the project", "check"),
    # The curve of repaired files holds times, so the cache has other objects each time.
    _models(
        "vet", "vet", *_PAIR, *projects.SMALL_VET, "-S", "seed=1",
        apart=r"^project/(sweeps|\.dvc/cache)(/|$)",
    ),
    _models("vet --demo", "vet", "--demo", "--dry-run", varies="^project/", prepare=_empty),
    _models("vet --check", "vet", "--check", projects.VETTED),
    _models("pack", "pack", "demo/digits.onnx", "packed.onnx"),
    _models(
        "judge-tests", "judge-tests", "small.keras", "--data", "digits", *projects.SMALL_JUDGE,
        experiments=True,
    ),
    # Given again, campaign and call-functions go on with the next piece or call.
    _models(
        "campaign", "campaign", "--pieces", "1", "--size", "2", apart="^(state|programs)/",
    ),
    _models("collect-findings", "collect-findings"),
    _models(
        "check-findings", "check-findings", prepare=_with_a_finding, varies="^project/findings/",
    ),
    _models("environments", "environments"),
    _models(
        "compare-libraries", "compare-libraries", "--model", "demo/digits.onnx", "--library",
        "onnxruntime", "--explain", "0", statuses=(0, 1), varies="/compare-libraries/",
    ),
    _models(
        "compare-versions", "compare-versions", "onnxruntime", "1.31", "openvino", "--model",
        "demo/digits.onnx", "--explain", "0", statuses=(0, 1), varies="/compare-versions/",
    ),
    _models("params", "params", "seed=1"),
    _models("runs", "runs", "--all-commits"),
    _models("diff", "diff", "HEAD"),
    _models("open", "open", "vet", "--print"),
    _models("state", "state"),
    _models("budget", "budget", statuses=(0, 1)),
    _models("reproduce", "reproduce", "--dry-run", "memo_coverage"),
    _models("call-functions", "call-functions", "jax", "--most", "1", apart="^state/"),
)  # fmt: skip

_SWEEP = ("sweep", "--name", "s", "abstraction.m=11,12", "hydra/launcher=joblib")

#: All targets, in the order of the table.
TARGETS = {
    target.name: target
    for target in (
        *map(_one_stage, _STAGES),
        _whole("asterism repro", projects.asterism("repro", "--jobs", "2")),
        _whole("dvc repro", ("dvc", "repro")),
        Target(
            "asterism sweep",
            "light",
            projects.asterism(*_SWEEP, "hydra.launcher.n_jobs=2"),
            lambda place: None,
            _source,
            experiments=True,
        ),
        Target(
            "make push",
            "light",
            _make("push"),
            _with_remote,
            _objects("project/.dvc/cache"),
            checks_status=False,
        ),
        Target("make pull", "light", _make("pull"), _clone_to_pull, _objects("store")),
        Target(
            "asterism push",
            "light",
            projects.asterism("push"),
            _with_remote,
            _objects("project/.dvc/cache"),
            checks_status=False,
        ),
        Target(
            "asterism pull",
            "light",
            projects.asterism("pull"),
            _clone_to_pull,
            _objects("store"),
        ),
        *_COMMANDS,
    )
}
