"""The process of one point: brings its workspace up to date and saves the DVC experiment.

``python -m asterism.sweep.worker WORKSPACE`` reads its order from ``.dvc/tmp/order.json`` there and
answers in ``.dvc/tmp/answer.json``. It is a process of its own because DVC holds much state in the
process that it runs in, and so that an interrupt reaches all of a point and nothing else.
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
from asterism.core.files.locks import held
from asterism.core.files.os_errors import rejections_told
from asterism.core.files.records import read_record
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import escape_streams
from asterism.core.workers.processes import interrupt_group_with_parent
from asterism.dvc_hydra.commands import experiment_reference
from asterism.dvc_hydra.lockfile import LOCK_FILE
from asterism.dvc_hydra.repository import open_repository
from asterism.sweep.executors import Shards
from asterism.sweep.pipeline import (
    StageFailedError,
    run_stages,
    use_this_python,
)
from asterism.sweep.plan import read_plan
from asterism.sweep.workspace import git

ORDER = Path(".dvc/tmp/order.json")
ANSWER = Path(".dvc/tmp/answer.json")


@dataclass(frozen=True)
class JobSpec:
    """What a point's process is to do.

    Attributes:
        project: the project that the sweep belongs to.
        targets: stages to bring up to date; none for all.
        jobs: stages at the same time.
        locks: folder of the locks between points.
        experiment: name of the DVC experiment to save.
        shards: help for long stages.
        terminal: the device of the terminal that shows how far it is; empty for none.
    """

    project: str
    targets: Sequence[str]
    jobs: int
    locks: str
    experiment: str
    shards: Shards
    terminal: str = ""


@dataclass(frozen=True)
class JobResult:
    """How it went.

    Attributes:
        status: ``finished``, ``failed``, ``interrupted``, or ``lost`` when its process was killed.
        exit_code: of the stage that failed, else 0.
        message: why it failed, one line.
        ran: stages whose command ran.
        seconds: spent on the stages.
    """

    status: str
    exit_code: int = 0
    message: str = ""
    ran: Sequence[str] = ()
    seconds: float = 0.0


def give_order(workspace: Path, order: JobSpec) -> None:
    """Leave an order in a workspace."""
    write_json(workspace / ORDER, asdict(order))


def read_order(workspace: Path) -> JobSpec:
    """What :func:`give_order` left."""
    return read_record(JobSpec, workspace / ORDER)


def read_answer(workspace: Path) -> JobResult | None:
    """The answer, None where the process has ended without one."""
    path = workspace / ANSWER
    return read_record(JobResult, path) if path.exists() else None


def main(workspace: Path) -> int:
    """Carry out the order in a workspace; the process's exit status."""
    escape_streams()
    order = read_order(workspace)
    os.chdir(workspace)
    use_this_python()
    # A shell starts background jobs so that they ignore it, and so would the stages.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt_group_with_parent()
    started = time.perf_counter()
    try:
        with rejections_told():
            ran = _bring_up_to_date(workspace, order)
            _save_experiment(workspace, order)
        answer = JobResult("finished", ran=ran)
    except KeyboardInterrupt:
        answer = JobResult("interrupted", INTERRUPTED, "interrupted; the same command resumes it")
    except StageFailedError as error:
        answer = JobResult("failed", error.exit_code, str(error))
    except UserError as error:
        answer = JobResult("failed", 1, str(error))
    spent = round(time.perf_counter() - started, 3)
    write_json(workspace / ANSWER, asdict(answer) | {"seconds": spent})
    return answer.exit_code


def _bring_up_to_date(workspace: Path, order: JobSpec) -> list[str]:
    """Run what the cache does not have; names of the stages whose command ran."""
    locks, repository = Path(order.locks), open_repository(workspace)
    repository.check_out_data()
    plan = read_plan(repository, order.targets)
    return run_stages(repository, plan, plan, order.jobs, locks, order.shards, order.terminal)


def _save_experiment(workspace: Path, order: JobSpec) -> None:
    """Commit the point as a DVC experiment, and hand it to the project.

    To DVC an experiment is a commit on the one that it started from, under a reference of this
    form. Its own ``dvc exp save`` hashes and commits every output again, which run and cache have
    done.
    """
    reference = experiment_reference(git(workspace, "rev-parse", "HEAD"), order.experiment)
    git(workspace, "add", "--update")
    git(workspace, "add", "--force", LOCK_FILE)
    message = f"dvc: experiment {order.experiment}"
    plainly = ["--quiet", "--allow-empty", "--no-verify", "--no-gpg-sign"]
    git(workspace, "commit", *plainly, "--message", message)
    with held(Path(order.locks) / "references.lock"):
        source = f"+HEAD:{reference}"
        git(
            Path(order.project), "fetch", "--quiet", "--no-write-fetch-head", str(workspace), source
        )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
