"""Small projects to disturb: a copy of this checkout whose stages take seconds, finished once."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import sweeps  # the sibling script
import yaml

ROOT = Path(__file__).resolve().parents[2]

#: Parameters with which long stages work for seconds only, in several parts where they have any.
SMALL = [
    "data.train=400",
    "data.test=120",
    "rnn.units=[24]",
    "rnn.training.epochs=8",
    "seeds.per_class=2",
    "fuzz.criteria=[state]",
    "fuzz.mutants=12000",
    "fuzz.islands=3",
    "coverage.references=5",
    "classifier.training.epochs=8",
    "attack.names=[fgsm,carlini_wagner,noise]",
    "attack.inputs=10",
    "attack.options.carlini_wagner.inputs=3",
    "attack.options.carlini_wagner.iterations=50",
    "attack.rnn_inputs=15",
    "importance.neurons=[6,8]",
    "importance.draws=2",
    "~compression.dynamic_range",
    "compression.pruned.options.tuning.epochs=4",
    "compression.distilled.options.training.epochs=6",
    "~pairs.dynamic_range",
    "~pairs.distilled",
    "trigger.seeds=12",
    "trigger.queries=100",
    "trigger.minimise_queries=10",
    "trigger.searches.diffchaser.options.population=10",
    "repair.folds=3",
    "repair.repeats=2",
    "reduce.models=[lenet5]",
    "generate.compared=[memo_r]",
    "generate.models=200",
    "generate.executed=3",
    "generate.islands=3",
    "execute.distributions=[normal]",
    "execute.backends=[pytorch:eager,jax:jit]",
    "triage.max_unique=1",
    "triage.max_steps=2",
]

#: The same for a pair that is vetted, and for a test set that is judged.
SMALL_VET = [
    word
    for override in (
        "vet.limit=120",
        "vet.changes.inputs=4",
        "vet.search.seeds=4",
        "vet.search.queries=20",
        "vet.repair.evaluations=4",
        "vet.repair.inputs=8",
    )
    for word in ("-S", override)
] + ["--no-open"]
SMALL_JUDGE = [
    word
    for override in ("data.train=200", "data.test=60", "importance.neurons=[6]", "attack.inputs=2")
    for word in ("-S", override)
] + ["--no-open"]

#: The certificate of the pair in a new project.
VETTED = "sweeps/demo/points/0000/vet/certificate.json"

#: In the copy, a stage saves its state this often instead of every ten seconds.
SAVE_EVERY = ("SAVE_EVERY = 10.0", "SAVE_EVERY = 0.3")


#: What every command runs, also when the work is another stage's.
_ALWAYS = (
    "stages/__main__.py",
    "src/asterism/core",
    "src/asterism/dvc_hydra",
    "requirements.lock",
)

#: What commands about the whole graph run beside that; their stages are light ones.
_OF_GRAPHS = ("Makefile", "conf/hydra", "dvc.yaml", "src/asterism/cli", "src/asterism/sweep")


def commit_told() -> str:
    """The commit of this checkout, marked where files differ from it."""
    return sweeps.shell(ROOT, "git", "describe", "--always", "--dirty", "--abbrev=10")


def code_version(stages: Sequence[str], more: Sequence[str] = ()) -> str:
    """Hash of the files of this checkout that a command runs: its outcomes are of one version.

    Args:
        stages: the stages that it is about, whose code counts; none means the whole graph, with
            stages that do no work.
        more: further files and folders of code.
    """
    entries = _entries()
    own = [entries[stage.partition("@")[0]] for stage in stages]
    code = {dep for entry in own for dep in entry["deps"] if dep.startswith(("src/", "stages/"))}
    code |= {*_ALWAYS, *(() if stages else _OF_GRAPHS), *more}
    digest = hashlib.sha256(repr((SMALL, SAVE_EVERY, own)).encode())
    listed = sweeps.shell(
        ROOT, "git", "ls-files", "--cached", "--others", "--exclude-standard", *sorted(code)
    )
    for name in sorted(listed.split("\n")):
        if (ROOT / name).is_file():
            digest.update(f"\0{name}\0".encode() + (ROOT / name).read_bytes())
    return digest.hexdigest()[:10]


def _entries() -> dict[str, Any]:
    """Stages of ``dvc.yaml`` by name; of those that stand for several, what they share."""
    entries = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    return {name: entry.get("do", entry) for name, entry in entries.items()}


def templates_version() -> str:
    """Hash of all code that finished projects are made by, see :data:`TEMPLATES`."""
    return code_version(list(_entries())) + code_version([])


def environment(place: Path) -> dict[str, str]:
    """What commands below a folder are run with: nothing of theirs lies outside of it."""
    (place / "tmp").mkdir(parents=True, exist_ok=True)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ASTERISM_", "PYTHON"))}
    return inherited | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(ROOT / "src"),
        "ASTERISM_STATE_ROOT": str(place / "state"),
        "ASTERISM_PROGRAMS_ROOT": str(place / "programs"),
        "DVC_SITE_CACHE_DIR": str(place / "site"),
        "DVC_NO_ANALYTICS": "1",
        "TMPDIR": str(place / "tmp"),
        "GIT_AUTHOR_NAME": "faults",
        "GIT_AUTHOR_EMAIL": "faults@localhost",
        "GIT_COMMITTER_NAME": "faults",
        "GIT_COMMITTER_EMAIL": "faults@localhost",
    }


def call(place: Path, folder: Path, *command: str) -> str:
    """What a command prints that has to succeed.

    Raises:
        SystemExit: it failed.
    """
    result = subprocess.run(
        command,
        cwd=folder,
        env=environment(place),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed in {folder}:\n{result.stdout[-4000:]}")
    return result.stdout


def asterism(*arguments: str) -> tuple[str, ...]:
    """The command line of the ``asterism`` command from this checkout's source."""
    program = "from asterism.cli import main; main()"
    return (sys.executable, "-c", program, *arguments)


def make_real(place: Path) -> None:
    """``place/project`` with the real stages and :data:`SMALL` parameters, everything computed."""
    project = place / "project"
    sweeps.copy_checkout(project)
    checkpoints = project / "src/asterism/core/resuming/checkpoints.py"
    text = checkpoints.read_text(encoding="utf-8")
    if SAVE_EVERY[0] not in text:
        sys.exit(f"{checkpoints} has no line {SAVE_EVERY[0]!r}: the harness needs a look")
    checkpoints.write_text(text.replace(*SAVE_EVERY), encoding="utf-8")
    call(place, project, "git", "init", "--quiet", "--initial-branch", "main")
    call(place, project, *asterism("params", *SMALL))
    _finish(place)


def make_light(place: Path) -> None:
    """``place/project`` with the real graph, whose stages only write small files, all computed."""
    sweeps.make_project(place / "project")
    _finish(place)


def make_new(place: Path) -> None:
    """``place/project`` as ``asterism new`` makes it, with a vetted pair and a small classifier."""
    project = place / "project"
    call(place, place, *asterism("new", "project"))
    call(place, project, *asterism("vet", "--demo", "--name", "demo", *SMALL_VET))
    call(place, project, sys.executable, "-c", _SMALL_MODEL)
    commit(place, "start")


#: Saves a classifier of digits that has learnt nothing.
_SMALL_MODEL = """\
import keras
from keras import layers

keras.utils.set_random_seed(0)
parts = [layers.Input((28, 28, 1)), layers.Flatten(), layers.Dense(8, "relu")]
keras.Sequential([*parts, layers.Dense(10, "softmax")]).save("small.keras")
"""

#: Makers of ``place/project``, by the name that targets give.
TEMPLATES = {"real": make_real, "light": make_light, "new": make_new}


def _finish(place: Path) -> None:
    project = place / "project"
    commit(place, "start")
    call(place, project, "dvc", "repro", "--quiet")
    commit(place, "results")


def commit(place: Path, message: str) -> None:
    """Commit everything in ``place/project`` that git does not ignore."""
    call(place, place / "project", "git", "add", "--all")
    quietly = ["--quiet", "--allow-empty", "--message", message]
    call(place, place / "project", "git", "commit", *quietly)


def forget(project: Path, stages: Iterable[str]) -> None:
    """Remove all trace of stages' results: outputs, locks, objects of the cache, run-cache."""
    lock = project / "dvc.lock"
    text = lock.read_text(encoding="utf-8")
    document = yaml.safe_load(text)
    for name in stages:
        for out in document["stages"].pop(name)["outs"]:
            _remove(project / out["path"])
        text = re.sub(
            rf"^  {re.escape(name)}:\n(?:   .*\n)*", "", text, count=1, flags=re.MULTILINE
        )
    if document["stages"]:
        lock.write_text(text, encoding="utf-8")
    else:
        lock.unlink()
    _remove(project / ".dvc/cache/runs")
    _remove(project / "logs")
    kept = _objects(project, document["stages"].values())
    for path in (project / ".dvc/cache/files/md5").glob("??/*"):
        if path.parent.name + path.name not in kept:
            path.unlink()


def _objects(project: Path, entries: Iterable[dict[str, Any]]) -> set[str]:
    """Names of the cache's objects that entries of ``dvc.lock`` name, also by way of a folder."""
    found = set()
    for entry in entries:
        for out in entry.get("outs", []):
            name = out["md5"]
            found.add(name)
            listing = project / ".dvc/cache/files/md5" / name[:2] / name[2:]
            if name.endswith(".dir"):
                found |= {file["md5"] for file in json.loads(listing.read_text(encoding="utf-8"))}
    return found


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def outputs(project: Path, stages: Sequence[str]) -> list[str]:
    """Paths that stages write, by ``dvc.lock``."""
    if not stages:
        return []
    lock = yaml.safe_load((project / "dvc.lock").read_text(encoding="utf-8"))["stages"]
    return [out["path"] for name in stages for out in lock[name]["outs"]]


def dependencies(project: Path, stages: Sequence[str]) -> list[Path]:
    """Results and data that stages read, which are no outputs of theirs; source left out."""
    lock = yaml.safe_load((project / "dvc.lock").read_text(encoding="utf-8"))["stages"]
    made = set(outputs(project, stages))
    read = {dep["path"] for name in stages for dep in lock[name].get("deps", [])} - made
    tops = [project / path for path in sorted(read) if path.startswith(("artifacts/", "metrics/"))]
    return [f for top in tops for f in ([top] if top.is_file() else sorted(top.rglob("*.*")))]
