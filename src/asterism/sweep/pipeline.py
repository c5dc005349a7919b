"""Running the stages of one workspace, independent ones side by side.

A stage is started when those that it depends on have ended, under a lock on all that its result
depends on: of two runs that need the same stage, in one workspace each, one computes it and the
other takes it from the cache that they share.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import nullcontext
from multiprocessing.context import ForkServerContext
from pathlib import Path

from asterism.core.files.interrupts import INTERRUPTED
from asterism.core.files.locks import hold_lock
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.repository import Repository, StageFailedError
from asterism.dvc_hydra.saved_state import remove_unneeded_state
from asterism.sweep.executors import Shards, compute_units
from asterism.sweep.interrupt import (
    interruptible,
    postpone_sigint,
    serve_run,
)
from asterism.sweep.live_lines import INTERVAL, divert_messages, live_lines
from asterism.sweep.plan import PlannedStage, find_cached

#: Bytes that the path of a socket may have on Linux and macOS, less what Python adds to the folder.
_LONGEST = 103 - len("/pymp-xxxxxxxx/listener-xxxxxxxx")


def run_stage(
    root: Path, stage: PlannedStage, locks: Path, shards: Shards, lines: Path | None = None
) -> bool:
    """Bring one stage of a workspace up to date; see :func:`reproduce_stage`.

    Args:
        root, stage, locks, shards: see there.
        lines: folder of :class:`~asterism.sweep.live_lines.LiveLines`; None for none.
    """
    with interruptible(), divert_messages(lines, stage.name):
        return reproduce_stage(Repository(root), stage, locks, shards)


def find_outdated_stages(
    repository: Repository, plan: Sequence[PlannedStage]
) -> list[PlannedStage]:
    """The stages of a run that are not up to date, or follow one that is not."""
    stale: dict[str, PlannedStage] = {}
    for planned in plan:
        follows = not stale.keys().isdisjoint(planned.upstream)
        if follows or not repository.is_up_to_date(planned.stage):
            stale[planned.name] = planned
    return list(stale.values())


def reproduce_stage(
    repository: Repository, planned: PlannedStage, locks: Path, shards: Shards
) -> bool:
    """Bring one stage of a workspace up to date; its upstream stages are so already.

    Args:
        repository: the workspace's.
        planned: the stage.
        locks: folder of the locks, common to all workspaces that share the cache.
        shards: help for a long stage.

    Returns:
        Whether its command ran, rather than its outputs being there or in the cache.

    Raises:
        StageFailedError: the command failed.
        KeyboardInterrupt: it was interrupted.
        UserError: its outputs could not be taken.
    """
    stage = planned.stage
    try:
        with hold_lock(locks / f"{planned.key}.lock"), postpone_sigint() as raise_noted:
            if repository.is_up_to_date(stage):
                return False
            if (entry := repository.find(stage)) is not None:
                repository.take({stage.name: entry})
                return False
            raise_noted()
            if stage.is_long and not shards.is_alone:
                compute_units(shards, repository, planned, raise_noted)
            repository.run(stage, raise_noted)
    except StageFailedError as error:
        if error.exit_code in (INTERRUPTED, -signal.SIGINT):
            raise KeyboardInterrupt from None
        raise
    except UserError as error:
        raise UserError(f"stage {stage.name}: {error}") from None
    if stage.is_long:
        remove_unneeded_state()  # in a workspace of its own no other stage may follow
    return True


def run_stages(
    repository: Repository,
    plan: Sequence[PlannedStage],
    stale: Sequence[PlannedStage],
    jobs: int,
    locks: Path,
    shards: Shards,
    terminal: str = "",
) -> list[str]:
    """Bring the rest of a run up to date.

    Args:
        repository: the workspace's.
        plan: all stages of the run.
        stale: those of them that are not known to be up to date.
        jobs: stages that may run at the same time.
        locks: see :func:`reproduce_stage`.
        shards: see :func:`reproduce_stage`.
        terminal: see :func:`~asterism.sweep.live_lines.live_lines`.

    Returns:
        Names of the stages whose command ran.

    Raises:
        StageFailedError: a stage failed; those that do not depend on it have ended too.
        KeyboardInterrupt: the run was interrupted; the same call goes on.
        UserError: see :func:`reproduce_stage`.
    """
    if not stale:
        return []
    before = repository.order()
    try:
        found, missing = find_cached(repository, stale)
        with postpone_sigint():
            repository.take(found)
        if jobs == 1:
            return run_one_by_one(repository, missing, locks, shards)
        done = {stage.name for stage in plan} - {stage.name for stage in missing}
        return _run_side_by_side(
            repository.root, order_by_chain(missing), done, jobs, locks, shards, terminal
        )
    finally:
        repository.set_order([*before, *(stage.name for stage in plan)])


def run_one_by_one(
    repository: Repository,
    stale: Sequence[PlannedStage],
    locks: Path,
    shards: Shards,
) -> list[str]:
    """As :func:`run_stages`, one stage at a time; see :func:`reproduce_stage`."""
    ran: list[str] = []
    out_of_reach: set[str] = set()
    failure: Exception | None = None
    for stage in stale:
        if not out_of_reach.isdisjoint(stage.upstream):
            out_of_reach.add(stage.name)
            continue
        try:
            if reproduce_stage(repository, stage, locks, shards):
                ran.append(stage.name)
        except (StageFailedError, UserError) as error:
            failure = failure or error
            out_of_reach.add(stage.name)
    if failure is not None:
        raise failure
    return ran


def order_by_chain(stages: Sequence[PlannedStage]) -> list[PlannedStage]:
    """Those first that the longest chain of stages begins with.

    A chain of stages that begins late is what a run with free processors waits for in the end.

    Args:
        stages: in an order in which they can run; equally long ones keep it.
    """
    seconds = {planned.name: planned.stage.seconds for planned in stages}
    chains = dict(seconds)
    for planned in reversed(stages):
        for name in chains.keys() & planned.upstream:
            chains[name] = max(chains[name], seconds[name] + chains[planned.name])
    return sorted(stages, key=lambda planned: -chains[planned.name])


def _run_side_by_side(
    root: Path,
    waiting: list[PlannedStage],
    done: set[str],
    jobs: int,
    locks: Path,
    shards: Shards,
    terminal: str,
) -> list[str]:
    ran: list[str] = []
    working: dict[Future[bool], PlannedStage] = {}
    failure: BaseException | None = None
    context = forkserver()
    lines, total = live_lines(len(waiting), terminal), len(waiting)
    of_run, _run = context.Pipe(duplex=False)  # held until here is the end
    with (
        lines or nullcontext(),
        ProcessPoolExecutor(jobs, context, serve_run, (of_run,)) as pool,
    ):
        while True:
            for stage in [s for s in waiting if done.issuperset(s.upstream)]:
                if len(working) < jobs and not isinstance(failure, KeyboardInterrupt):
                    waiting.remove(stage)
                    folder = None if lines is None else lines.folder
                    future = pool.submit(run_stage, root, stage, locks, shards, folder)
                    working[future] = stage
            if not working:
                break
            if lines is not None:
                lines.draw([s.name for s in working.values()], total - len(waiting) - len(working))
            patience = None if lines is None else INTERVAL
            for future in wait(working, patience, return_when=FIRST_COMPLETED).done:
                stage = working.pop(future)
                if (error := future.exception()) is not None:
                    failure = failure or error
                else:
                    done.add(stage.name)
                    ran += [stage.name] if future.result() else []
    if failure is not None:
        raise failure
    return ran


def lock_folder(root: Path) -> Path:
    """Where a project's locks are, for all the workspaces that share its cache."""
    return root / ".dvc" / "tmp" / "asterism" / "locks"


def use_this_python() -> None:
    """Let stages, which are started as ``python``, use the interpreter that runs this."""
    binaries = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([binaries, os.environ.get("PATH", os.defpath)])


def forkserver() -> ForkServerContext:
    """Processes are forked from one that has done nothing else, which listens on a socket.

    Raises:
        UserError: the folder for temporary files has too long a path for a socket.
    """
    folder = tempfile.gettempdir()
    if len(folder.encode()) > _LONGEST:
        raise UserError(
            f"the path of the folder for temporary files, {folder}, is longer than {_LONGEST} "
            "bytes, which is too long for processes side by side: set TMPDIR to a shorter one"
        )
    return multiprocessing.get_context("forkserver")
