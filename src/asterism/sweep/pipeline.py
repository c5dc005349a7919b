"""Running the stages of one workspace, independent ones side by side.

DVC runs the stages of a workspace one after another. It does allow several of its processes in
one workspace, as long as each runs one stage; that is what happens here. A stage is started when
those that it depends on have ended, under a lock on all that its result depends on: of two runs
that need the same stage, in one workspace each, one computes it and the other takes it from the
cache that they share.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.locks import held
from asterism.core.messages.console import one_bar, progress
from asterism.core.messages.errors import UserError
from asterism.core.resuming.tidying import tidy
from asterism.core.running.supervision import INTERRUPTED
from asterism.sweep import lockfile
from asterism.sweep.announcements import Announcements
from asterism.sweep.cached import restore
from asterism.sweep.forkserver import forkserver
from asterism.sweep.guard import require_results
from asterism.sweep.hashes import Hashes
from asterism.sweep.interrupt import (
    interrupt_postponed,
    interruptible,
    serve_run,
)
from asterism.sweep.repository import open_repository
from asterism.sweep.shards import Helpers, Shards
from asterism.sweep.targets import unknown_stage


@dataclass(frozen=True)
class PlannedStage:
    """A stage of a run.

    Attributes:
        name: as ``dvc repro`` takes it, ``fuzz@state``.
        upstream: names of those whose outputs it reads.
        key: hash of all that its result depends on, known before anything has run.
        command: its command.
        is_long: whether it cuts its work into parts, which shards can help with.
    """

    name: str
    upstream: tuple[str, ...]
    key: str
    command: str
    is_long: bool


class StageFailedError(Exception):
    """A stage's command ended with an error.

    Attributes:
        stage: its name.
        exit_code: its command's exit status.
    """

    def __init__(self, stage: str, exit_code: int) -> None:
        super().__init__(f"stage {stage} failed with exit status {exit_code}")
        self.stage, self.exit_code = stage, exit_code

    def __reduce__(self) -> tuple[Any, ...]:
        return StageFailedError, (self.stage, self.exit_code)


def read_plan(repository: Any, targets: Sequence[str], hashes: Hashes) -> list[PlannedStage]:
    """The stages that a run of ``targets`` consists of, in the order of ``dvc repro``.

    Args:
        repository: the workspace's, see :func:`open_repository`.
        targets: names of stages; none for all.
        hashes: takes in what is computed of the dependencies.

    Raises:
        UserError: there is no such stage, DVC cannot read the pipeline, a stage writes
            where no results belong, or a file is missing.
    """
    from dvc.dvcfile import PROJECT_FILE
    from dvc.exceptions import DvcException
    from dvc.repo.reproduce import collect_stages, get_active_graph, plan_repro
    from dvc.stage.exceptions import StageNotFound

    try:
        graph = get_active_graph(repository.index.graph)
        if targets:
            wanted = collect_stages(repository, targets)
        else:  # DVC would read the file once more for them
            wanted = [s for s in repository.index.stages if s.path_in_repo == PROJECT_FILE]
        order = plan_repro(graph, wanted)
    except StageNotFound as error:
        raise unknown_stage(error.name, list(find_stages(repository))) from None
    except DvcException as error:
        raise UserError(f"dvc.yaml: {error}") from None
    planned: dict[Any, PlannedStage] = {}
    computed = [stage for stage in order if stage.cmd]  # data under `dvc add` are just files
    require_results(Path(repository.root_dir), computed)
    produced = _Produced([Path(out.fs_path) for stage in computed for out in stage.outs])
    for stage in order:
        above = [planned[s] for s in graph.successors(stage) if s in planned]
        planned[stage] = PlannedStage(
            stage.addressing,
            tuple(sorted(s.name for s in above)),
            _key(stage, produced, sorted(s.key for s in above), hashes),
            stage.cmd,
            bool((stage.meta or {}).get("shards")),
        )
    return list(planned.values())


class _Produced:
    """Tells whether a path is an output of the run, lies in one, or holds one."""

    def __init__(self, outputs: Sequence[Path]) -> None:
        self._outputs = set(outputs)
        self._above = {parent for path in outputs for parent in path.parents}

    def __contains__(self, path: Path) -> bool:
        inside = self._outputs.intersection((path, *path.parents))
        return bool(inside) or path in self._above


def _key(stage: Any, produced: _Produced, upstream: list[str], hashes: Hashes) -> str:
    outer = [dep for dep in sorted(stage.deps, key=str) if Path(dep.fs_path) not in produced]
    for dep in outer:
        hashes.save(dep)
    facts = {
        "command": stage.cmd,
        "outputs": sorted(str(out) for out in stage.outs),
        "dependencies": [[str(dep), dep.hash_info.value] for dep in outer],
        "upstream": upstream,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def run_stage(root: Path, stage: PlannedStage, locks: Path, shards: Shards) -> bool:
    """Bring one stage of a workspace up to date; see :func:`reproduce`."""
    with interruptible(), open_repository(root) as repository:
        return reproduce(repository, find_stages(repository)[stage.name], stage, locks, shards)


def find_stages(repository: Any) -> dict[str, Any]:
    """DVC's stages by name. They stay good while others of the workspace run."""
    return {stage.addressing: stage for stage in repository.index.stages}


def open_ends(root: Path, plan: Sequence[PlannedStage]) -> list[PlannedStage]:
    """The stages of a run that are not up to date, or follow one that is not.

    Seen in one opening of the repository, where :func:`run_stage` opens one each. It is not the
    one of :func:`read_plan`, whose stages have taken in the new hashes of their dependencies.
    """
    stale: dict[str, PlannedStage] = {}
    with open_repository(root) as repository, repository.lock:
        stages = find_stages(repository)
        for planned in plan:
            follows = not stale.keys().isdisjoint(planned.upstream)
            if follows or stages[planned.name].changed():
                stale[planned.name] = planned
    return list(stale.values())


def reproduce(
    repository: Any,
    found: Any,
    stage: PlannedStage,
    locks: Path,
    shards: Shards,
    hashes: Hashes | None = None,
) -> bool:
    """Bring one stage of a workspace up to date; its upstream stages are so already.

    Args:
        repository: the workspace's.
        found: DVC's stage.
        stage: the same as planned.
        locks: folder of the locks, common to all workspaces that share the cache.
        shards: help for a long stage.
        hashes: what is known of a workspace that nobody else changes and that holds none of the
            stage's results, which saves most of DVC's own time; None to let DVC look at all of it.

    Returns:
        Whether its command ran, rather than its outputs being there or in the cache.

    Raises:
        StageFailedError: the command failed.
        KeyboardInterrupt: it was interrupted.
        UserError: DVC could not run it.
    """
    from dvc.exceptions import CacheLinkError, DvcException
    from dvc.stage.exceptions import StageCmdFailedError

    root = Path(repository.root_dir)
    helpers = Helpers(shards if stage.is_long else Shards(), root, stage.name, stage.command)
    try:
        with (
            held(locks / f"{stage.key}.lock"),
            repository.lock,
            lockfile.written_here(),
            interrupt_postponed() as raise_noted,
            Announcements(raise_noted, helpers.start) as said,
        ):
            if _renew(found, hashes) if hashes is not None else found.reproduce():
                found.dump(update_pipeline=False)
    except StageCmdFailedError as error:
        status = int(str(error).rpartition(" ")[2])  # DVC keeps it in the message only
        if status in (INTERRUPTED, -signal.SIGINT):
            raise KeyboardInterrupt from None
        raise StageFailedError(stage.name, status) from None
    except CacheLinkError:  # which does not say why
        folders = sorted({str(Path(out.fs_path).parent) for out in found.outs})
        raise UserError(
            f"stage {stage.name}: what the cache has cannot be put into {', '.join(folders)}: "
            "give yourself the right to write there, or make room"
        ) from None
    except DvcException as error:
        raise UserError(f"stage {stage.name}: {error}") from None
    finally:
        helpers.stop()
    if said.ran and stage.is_long:
        tidy()  # in a workspace of its own no other stage may follow
    return said.ran


def _renew(found: Any, hashes: Hashes) -> bool:
    """DVC's ``reproduce`` of a stage without results, dependencies hashed once; always True."""
    if not restore(found, hashes):
        found.run(force=True)
        for out in found.outs:
            hashes.learn(out)
    return True


def run_stages(
    root: Path,
    plan: Sequence[PlannedStage],
    stale: Sequence[PlannedStage],
    jobs: int,
    locks: Path,
    shards: Shards,
) -> list[str]:
    """Bring the rest of a run up to date.

    Args:
        root: the workspace.
        plan: all stages of the run.
        stale: those of them that are not known to be up to date.
        jobs: stages that may run at the same time.
        locks: see :func:`reproduce`.
        shards: see :func:`reproduce`.

    Returns:
        Names of the stages whose command ran.

    Raises:
        StageFailedError: a stage failed; those that do not depend on it have ended too.
        KeyboardInterrupt: the run was interrupted; the same call goes on.
        UserError: see :func:`reproduce`.
    """
    if not stale:
        return []
    if jobs == 1:
        with open_repository(root) as repository:
            return run_one_by_one(repository, stale, locks, shards)
    before = lockfile.stage_names(root)
    done = {stage.name for stage in plan} - {stage.name for stage in stale}
    try:
        return _run_side_by_side(root, longest_first(stale), done, jobs, locks, shards)
    finally:
        lockfile.set_order(root, [*before, *(stage.name for stage in plan)])


def run_one_by_one(
    repository: Any,
    stale: Sequence[PlannedStage],
    locks: Path,
    shards: Shards,
    hashes: Hashes | None = None,
) -> list[str]:
    """As :func:`run_stages`, one stage at a time in an open repository; see :func:`reproduce`."""
    ran: list[str] = []
    out_of_reach: set[str] = set()
    failure: Exception | None = None
    found = find_stages(repository)
    for stage in stale:
        if not out_of_reach.isdisjoint(stage.upstream):
            out_of_reach.add(stage.name)
            continue
        try:
            if reproduce(repository, found[stage.name], stage, locks, shards, hashes):
                ran.append(stage.name)
        except (StageFailedError, UserError) as error:
            failure = failure or error
            out_of_reach.add(stage.name)
    if failure is not None:
        raise failure
    return ran


def longest_first(stages: Sequence[PlannedStage]) -> list[PlannedStage]:
    """Those first that most stages follow, one after another.

    A chain of stages that begins late is what a run with free processors waits for in the end.

    Args:
        stages: in an order in which they can run; equally long ones keep it.
    """
    following = dict.fromkeys((stage.name for stage in stages), 0)
    for stage in reversed(stages):
        for name in following.keys() & stage.upstream:
            following[name] = max(following[name], following[stage.name] + 1)
    return sorted(stages, key=lambda stage: -following[stage.name])


def _run_side_by_side(
    root: Path,
    waiting: list[PlannedStage],
    done: set[str],
    jobs: int,
    locks: Path,
    shards: Shards,
) -> list[str]:
    ran: list[str] = []
    working: dict[Future[bool], PlannedStage] = {}
    failure: BaseException | None = None
    context = forkserver()
    of_run, _run = context.Pipe(duplex=False)  # held until here is the end
    with (
        progress(total=len(waiting), label="pipeline", unit="stage") as bar,
        one_bar(),
        ProcessPoolExecutor(jobs, context, serve_run, (of_run,)) as pool,
    ):
        while True:
            for stage in [s for s in waiting if done.issuperset(s.upstream)]:
                if len(working) < jobs and not isinstance(failure, KeyboardInterrupt):
                    waiting.remove(stage)
                    working[pool.submit(run_stage, root, stage, locks, shards)] = stage
            if not working:
                break
            bar.set_postfix_str(", ".join(s.name for s in working.values()))
            for future in wait(working, return_when=FIRST_COMPLETED).done:
                stage = working.pop(future)
                bar.update()
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
