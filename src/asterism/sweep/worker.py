"""The process of one point: brings its workspace up to date and saves the DVC experiment.

``python -m asterism.sweep.worker WORKSPACE`` reads its sweep from ``.dvc/tmp/sweep.json`` there and
leaves its result in ``.dvc/tmp/result.json``. It is a process of its own because DVC holds much
state in the process that it runs in, and so that an interrupt reaches all of a point and nothing
else.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.files.interrupts import INTERRUPTED
from asterism.core.files.locks import hold_lock, is_lock_held
from asterism.core.files.os_errors import report_os_errors
from asterism.core.files.records import read_record
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import escape_streams
from asterism.core.workers.processes import interrupt_group_with_parent
from asterism.dvc_hydra.commands import experiment_reference
from asterism.dvc_hydra.lockfile import LOCK_FILE
from asterism.dvc_hydra.repository import Repository, StageFailedError
from asterism.sweep.executors import Shards
from asterism.sweep.pipeline import lock_folder, run_stages, use_this_python
from asterism.sweep.plan import read_plan
from asterism.sweep.points import Point
from asterism.sweep.workspace import run_git

SWEEP = Path(".dvc/tmp/sweep.json")
RESULT = Path(".dvc/tmp/result.json")


@dataclass(frozen=True, kw_only=True)
class SweepRequest:
    """What the command line asks for.

    Attributes:
        overrides: Hydra's, those of Hydra itself among them.
        targets: stages to run, none for all.
        name: the sweep's; None to make it of the overrides.
        jobs: stages of a point at the same time.
        shards: processes that share the work of a long stage.
        shard_launcher: see :func:`~asterism.sweep.launch.make_shards`.
        objective: the metric that an adaptive sweeper goes by; empty where none does.
        kept: files of each point's workspace that are kept with its record, as patterns.
    """

    overrides: Sequence[str] = ()
    targets: Sequence[str] = ()
    name: str | None = None
    jobs: int = 1
    shards: int = 1
    shard_launcher: str | None = None
    objective: str = ""
    kept: Sequence[str] = ()


@dataclass(frozen=True)
class Sweep:
    """What all points of a sweep have in common; it travels to where they run.

    Attributes:
        name: the sweep's.
        project: root of the project.
        revision: the commit that the points start from.
        cache: the project's DVC cache.
        request: what the command line asked for.
        shards: help for long stages.
        tied: whether its points end when its process is gone. Jobs of a cluster go on.
        terminal: the device of the terminal that shows how far its only point is; empty for none.
    """

    name: str
    project: Path
    revision: str
    cache: Path
    request: SweepRequest
    shards: Shards
    tied: bool = False
    terminal: str = ""

    @property
    def folder(self) -> Path:
        """Where the sweep's results are."""
        return self.project / "sweeps" / self.name

    @property
    def lock(self) -> Path:
        """What the sweep's process holds while it is alive."""
        return self.folder / "lock"

    @property
    def stop(self) -> Path:
        """A file that tells all points to stop, when it is there."""
        return self.folder / "stop"

    def is_lost(self) -> bool:
        """Whether its points are tied to its process, and that was killed.

        A launcher's processes, in which points run, may outlive it: they have no parent to ask.
        """
        return self.tied and not is_lock_held(self.lock)

    def is_over(self) -> bool:
        """Whether its points are to stop."""
        return self.stop.exists() or self.is_lost()

    def point_folder(self, number: int) -> Path:
        """Where a point's record and log are."""
        return self.folder / "points" / f"{number:04d}"

    def workspace(self, point: Point) -> Path:
        """Where a point runs."""
        return self.project / ".dvc/tmp/asterism/workspaces" / f"{self.name}-{point.key}"

    def experiment(self, point: Point) -> str:
        """What a point's DVC experiment is called: as its workspace."""
        return self.workspace(point).name

    def point_file(self, number: int) -> Path:
        """Where a point waits for the launcher, see :func:`write_points`."""
        return self.folder / "composed" / f"{number:04d}.json"

    def begun(self) -> list[int]:
        """Numbers of the points that have begun, ascending."""
        return sorted(int(folder.name) for folder in (self.folder / "points").glob("*/"))

    def running(self) -> list[int]:
        """Numbers of the points whose processes are alive."""
        return [n for n in self.begun() if is_lock_held(self.point_folder(n) / "lock")]


@dataclass(frozen=True)
class PointResult:
    """How a point went.

    Attributes:
        status: ``finished``, ``failed``, ``interrupted``, or ``lost`` when its process was killed.
        exit_code: of the stage that failed, else 0; None if nobody knows it.
        message: why it failed, one line.
        ran: stages whose command ran.
        seconds: spent on the stages.
    """

    status: str
    exit_code: int | None = 0
    message: str = ""
    ran: Sequence[str] = ()
    seconds: float = 0.0


def read_result(workspace: Path) -> PointResult | None:
    """How the process of a workspace's point went; None where it has ended without saying so."""
    path = workspace / RESULT
    return read_record(PointResult, path) if path.exists() else None


def main(workspace: Path) -> int:
    """Run the point of a workspace; the process's exit status."""
    escape_streams()
    sweep = read_record(Sweep, workspace / SWEEP)
    os.chdir(workspace)
    use_this_python()
    # A shell starts background jobs so that they ignore it, and so would the stages.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt_group_with_parent()
    started = time.perf_counter()
    try:
        with report_os_errors():
            ran = _bring_up_to_date(workspace, sweep)
            _save_experiment(workspace, sweep)
        result = PointResult("finished", ran=ran)
    except KeyboardInterrupt:
        result = PointResult("interrupted", INTERRUPTED, "interrupted; the same command resumes it")
    except StageFailedError as error:
        result = PointResult("failed", error.exit_code, str(error))
    except UserError as error:
        result = PointResult("failed", 1, str(error))
    spent = round(time.perf_counter() - started, 3)
    write_json(workspace / RESULT, asdict(result) | {"seconds": spent})
    return result.exit_code or 0


def _bring_up_to_date(workspace: Path, sweep: Sweep) -> list[str]:
    """Run what the cache does not have; names of the stages whose command ran."""
    repository = Repository(workspace)
    repository.check_out_data()
    plan, jobs = read_plan(repository, sweep.request.targets), sweep.request.jobs
    locks = lock_folder(sweep.project)
    return run_stages(repository, plan, plan, jobs, locks, sweep.shards, sweep.terminal)


def _save_experiment(workspace: Path, sweep: Sweep) -> None:
    """Commit the point as a DVC experiment, and hand it to the project.

    To DVC an experiment is a commit on the one that it started from, under a reference of this
    form. Its own ``dvc exp save`` hashes and commits every output again, which run and cache have
    done.
    """
    reference = experiment_reference(run_git(workspace, "rev-parse", "HEAD"), workspace.name)
    run_git(workspace, "add", "--update")
    run_git(workspace, "add", "--force", LOCK_FILE)
    message = f"dvc: experiment {workspace.name}"
    plainly = ["--quiet", "--allow-empty", "--no-verify", "--no-gpg-sign"]
    run_git(workspace, "commit", *plainly, "--message", message)
    with hold_lock(lock_folder(sweep.project) / "references.lock"):
        source = f"+HEAD:{reference}"
        run_git(sweep.project, "fetch", "--quiet", "--no-write-fetch-head", str(workspace), source)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
