"""One target on a file system of its own: run it, disturb it, and compare what it left."""

from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from faulting import projects
from faulting.processes import Run
from faulting.targets import Snapshot, Target

#: Size of the file system that a trial runs on.
DISK_MB = 700

#: What a stage's runner says when the work begins, after all imports, and when it has ended.
_BEGINS, _ENDS = "] started ", "] finished "

#: Seconds in which processes have to be gone once their command is.
GRACE_SECONDS = 15.0

#: Seconds in which a disturbed command has to end.
END_SECONDS = 300.0

#: Names under which this project's writers, DVC and git write what they then move.
_TEMPORARY = re.compile(r"^\.?[^/]+\.[0-9A-Za-z_]{6,22}(\.tmp)?$|\.tmp$")

_OBJECT = re.compile(r"^[0-9a-f]{30}(\.dir)?$")


@dataclass(frozen=True)
class Reference:
    """How the target goes undisturbed.

    Attributes:
        snapshot: what it leaves.
        begins: seconds until its work begins.
        works: seconds of work.
        seconds: seconds that it takes.
        outputs: of a stage, what it writes, relative to the project.
        inputs: files that it reads, relative to the place.
    """

    snapshot: Snapshot
    begins: float
    works: float
    seconds: float
    outputs: Sequence[str]
    inputs: Sequence[str]


@dataclass(frozen=True)
class Moment:
    """When to disturb a run: so many seconds after it has printed a text or begun a file.

    Attributes:
        phase: ``start``, ``work``, ``writing`` or ``end`` of a stage, ``run`` of another command.
        after: the text; None for the run's beginning.
        seconds: seconds after it.
        output: the path, relative to the project; None for any moment.
    """

    phase: str
    after: str | None
    seconds: float
    output: str | None = None

    def __str__(self) -> str:
        told = self.phase if self.output is None else f"{self.phase} {self.output}"
        return f"{self.seconds:.3f} s into {told}"


@dataclass
class Outcome:
    """What came of one disturbance.

    Attributes:
        detail: what was done, and when.
        phase: of the run, see :class:`Moment`.
        problems: what was lost or left; empty where all is well.
    """

    detail: str
    phase: str
    problems: list[str] = field(default_factory=list)


#: Takes the numbers of the rounds, and gives their outcomes.
Disturbance = Callable[["Trial", "Reference", random.Random, range], Iterator["Outcome"]]


class Trial:
    """A place in which a target is run, fresh with each call of :meth:`renew`.

    Args:
        target: the command.
        folder: where the place is, and copies of how it begins, which name it.
        templates: folder of finished projects, which others may share.
    """

    def __init__(self, target: Target, folder: Path, templates: Path) -> None:
        self.target, self.place = target, folder / "place"
        self._prepared = folder / target.name.replace(" ", "-")
        self._templates = templates
        self._run: Run | None = None
        self.is_mounted = False

    def renew(self) -> None:
        """Begin anew, from before the command was first run."""
        self.close()
        self.place.mkdir(parents=True, exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(self.place)]
        self.is_mounted = _works(mount)
        if not self._prepared.exists():
            self._prepare()
        else:
            _copy(self._prepared, self.place)

    def _prepare(self) -> None:
        template = self._templates / f"template-{self.target.template}"
        if not template.exists():
            projects.TEMPLATES[self.target.template](self.place)
            _copy(self.place / "project", template / "project")
        else:
            _copy(template, self.place)
        self.target.prepare(self.place)
        shutil.rmtree(self.place / "site", ignore_errors=True)
        _copy(self.place, self._prepared)

    def close(self) -> None:
        """Leave nothing of the place, and nothing that runs in it."""
        if self._run is not None:
            self._run.kill_everything()
        if self.place.exists():
            while os.path.ismount(self.place):
                subprocess.run(["umount", "--lazy", str(self.place)], check=True)
            shutil.rmtree(self.place)

    def start(self, variables: Mapping[str, str] | None = None) -> Run:
        """The command, begun once more, two hours later by the times of DVC's temporary files."""
        self._age_temporary_files()
        environment = projects.environment(self.place) | dict(variables or {})
        # Beside the place: what is printed has room when the place is full.
        output = self.place.parent / "output.txt"
        self._run = Run(self.target.command, self.place / self.target.folder, environment, output)
        return self._run

    def _age_temporary_files(self) -> None:
        """What DVC has left under a temporary name is removed after an hour without a write."""
        for pattern in ("*/.dvc/cache/**/.*.tmp", "store/**/.*.tmp"):
            for path in self.place.glob(pattern):
                written = path.stat().st_mtime - 7200
                os.utime(path, (written, written))

    def reference(self) -> Reference:
        """Run the target undisturbed, in a fresh place.

        Raises:
            SystemExit: it fails.
        """
        self.renew()
        run = self.start()
        stage = self.target.is_stage
        begins = ends = 0.0
        if stage and run.wait_for(_BEGINS, self.target.limit):
            begins = time.monotonic() - run.begun
        if stage and run.wait_for(_ENDS, self.target.limit):
            ends = time.monotonic() - run.begun
        status = run.wait(self.target.limit)
        seconds = time.monotonic() - run.begun
        if status not in self.target.statuses or (left := run.left(GRACE_SECONDS)):
            run.kill_everything()
            raise SystemExit(
                f"{self.target.name} fails undisturbed: {status}\n{run.output}"
                if status not in self.target.statuses
                else f"{self.target.name} leaves processes when undisturbed: {left}"
            )
        made = projects.outputs(self.place / "project", self.target.stages)
        read = [str(path.relative_to(self.place)) for path in self.target.inputs(self.place)]
        snapshot = self.target.snapshot(self.place)
        return Reference(snapshot, begins, ends - begins, seconds, made, read)

    def draw(self, reference: Reference, rng: random.Random) -> Moment:
        """A random moment of a run: of a stage mostly in its work, rather than in its imports."""
        if not self.target.is_stage:
            return Moment("run", None, rng.uniform(0, reference.seconds))
        phase = rng.choices(["start", "work", "writing", "end"], [2, 5, 2, 1])[0]
        if phase == "writing":
            return Moment(phase, _BEGINS, rng.uniform(0, 0.03), rng.choice(reference.outputs))
        after, length = {
            "start": (None, reference.begins),
            "work": (_BEGINS, reference.works),
            "end": (_ENDS, reference.seconds - reference.begins - reference.works),
        }[phase]
        return Moment(phase, after, rng.uniform(0, length))

    def wait_until(self, run: Run, moment: Moment) -> bool:
        """Wait for the moment; False where the run has ended before."""
        if not run.wait_for(moment.after, self.target.limit):
            return False
        if moment.output is not None and not self._wait_for_output(run, moment.output):
            return False
        return run.wait(moment.seconds) is None

    def _wait_for_output(self, run: Run, output: str) -> bool:
        """Wait until an output, or the temporary file beside it, is there."""
        path = self.place / "project" / output
        while not path.exists() and not any(path.parent.glob(f".{path.name}.*")):
            if run.status is not None:
                return False
            time.sleep(0.001)
        return True

    def half_files(self, reference: Reference) -> list[str]:
        """Files under their final names that are not whole."""
        found = []
        if self.target.is_stage:
            for name, content in self.target.snapshot(self.place).items():
                whole = reference.snapshot.get(name, content)
                if not name.startswith(("state/", "project/dvc.lock")) and whole != content:
                    found.append(f"half file {name}")
        for path in self.place.rglob("files/md5/??/*"):
            if _OBJECT.match(path.name) and _md5(path) != (path.parent.name + path.name)[:32]:
                found.append(f"half object {path.relative_to(self.place)}")
        for lock in self.place.glob("*/dvc.lock"):
            try:
                yaml.safe_load(lock.read_text(encoding="utf-8"))
            except yaml.YAMLError:
                found.append("half dvc.lock")
        return found

    def end(self, run: Run) -> list[str]:
        """What is wrong with how a disturbed run ends, whatever its status."""
        limit = min(self.target.limit, END_SECONDS)
        status = run.wait(limit)
        problems = [] if status is not None else [f"it did not end in {limit:.0f} s"]
        problems += [f"left running: {told}" for told in run.left(GRACE_SECONDS)]
        run.kill_everything()
        return problems

    def again(self, reference: Reference) -> list[str]:
        """Run the same command, undisturbed: what is wrong then."""
        return self.conclude(self.start(), reference)

    def conclude(self, run: Run, reference: Reference) -> list[str]:
        """What is wrong once the run has ended by itself: lost, different, or left."""
        status = run.wait(self.target.limit)
        problems = [f"left running: {command}" for command in run.left(GRACE_SECONDS)]
        output = run.output
        run.kill_everything()
        if status is None:
            return [*problems, f"it did not end in {self.target.limit:.0f} s: {_last(output)}"]
        if status not in self.target.statuses:
            return [*problems, f"the same command ended with status {status}: {_last(output)}"]
        return problems + self.half_files(reference) + self._differences(reference)

    def _differences(self, reference: Reference) -> list[str]:
        now, before = self.target.snapshot(self.place), reference.snapshot
        problems = [f"lost {name}" for name in before.keys() - now.keys() if _counts(name)]
        for name in sorted(now):
            if name not in before:
                kept = name.startswith("state/") and now[name] == "folder"
                problems += [] if kept else [f"left {name}"]
            elif now[name] != before[name] and _counts(name):
                problems.append(f"other bytes in {name}")
        problems += [
            f"left {path.relative_to(self.place)}"
            for path in (self.place / "project").glob("sweeps/**/*")
            if _TEMPORARY.match(path.name) and path.name.startswith(".")
        ]
        if self.target.checks_status:
            said = projects.call(self.place, self.place / "project", "dvc", "status")
            if "up to date" not in said:
                problems.append(f"dvc status: {' '.join(said.split())[:200]}")
        return problems


def _counts(name: str) -> bool:
    """Saved state is kept or not, as it comes; results count."""
    return not name.startswith("state/")


def _last(output: str) -> str:
    """The line of an output that says what went wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [line for line in lines if line.lower().startswith("error")]
    return (told or lines or ["it printed nothing"])[-1][:300]


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def _copy(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", f"{source}/.", str(target)], check=True)


def _works(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@contextmanager
def read_only(folder: Path) -> Iterator[bool]:
    """Nobody can write into the folder meanwhile, root neither; yields whether that worked."""
    bound = _works(["mount", "--bind", str(folder), str(folder)])
    made = bound and _works(["mount", "-o", "remount,bind,ro", str(folder)])
    try:
        yield made
    finally:
        if bound:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
