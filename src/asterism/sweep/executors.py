"""Computing the units of a long stage by an executor: processes here, jobs of Slurm, or Dask.

What is handed to an executor is a command for a part of the units (see
:mod:`asterism.core.resuming.work_units`), which ends once their results are saved. So an executor
needs to know nothing of the work, and any of :mod:`concurrent.futures`' kind will do. Afterwards
the stage itself finds the results, computes what may be missing, and merges.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.dvc_hydra.repository import Repository
from asterism.sweep.plan import PlannedStage
from asterism.sweep.shared_store import SharedStore, run_part_in_copy
from asterism.sweep.workspace import run_git

log = get_logger(__name__)

#: Parts for each process: one that is done early takes the next.
_PARTS = 4

#: How often a part is given out whose process was killed.
_TRIES = 3

#: Seconds between two looks at whether the run was interrupted, and that a process has to end.
_LOOK, _GRACE = 0.2, 10.0

#: Settings of Hydra's Slurm launcher that submitit knows for all kinds of clusters.
_COMMON = {
    "timeout_min", "cpus_per_task", "gpus_per_node", "tasks_per_node", "mem_gb", "nodes", "name",
    "stderr_to_stdout",
}  # fmt: skip


@dataclass(frozen=True)
class Shards:
    """How a long stage is spread.

    Attributes:
        count: processes that compute units at the same time.
        slurm: settings of the launcher whose jobs they are. What they leave open follows from the
            stage's kind.
        dask: address of the scheduler of a Dask cluster; empty for none.
        store: where workers exchange files that see neither the workspace nor ``state.root``, see
            :mod:`asterism.sweep.shared_store`; empty where they see both.
    """

    count: int = 1
    slurm: Mapping[str, Any] | None = None
    dask: str = ""
    store: str = ""

    @property
    def is_alone(self) -> bool:
        """Whether the stage computes all units itself."""
        return self.count == 1 and not self.dask

    @contextmanager
    def executor(self, root: Path, stage: str) -> Iterator[Executor]:
        """The executor for a stage's parts; what still runs or waits ends with the block.

        Args:
            root: the workspace.
            stage: its name.

        Raises:
            UserError: see :func:`~asterism.sweep.resources.read_table`.
        """
        if self.dask:
            from distributed import Client

            with Client(self.dask) as client:
                yield client.get_executor(pure=False, retries=_TRIES)
        elif self.slurm is not None:
            with _SlurmExecutor(root, self._settings(root, stage)) as slurm:
                yield slurm
        else:
            with ThreadPoolExecutor(self.count) as pool:
                yield pool

    def _settings(self, root: Path, stage: str) -> dict[str, Any]:
        from asterism.sweep import resources  # a point whose stages are cached needs none of it

        assert self.slurm is not None
        request = resources.read_table(root).request([stage])
        return {**self.slurm, **resources.open_resources(self.slurm, request)}


def compute_units(
    shards: Shards,
    repository: Repository,
    planned: PlannedStage,
    raise_noted: Callable[[], None],
) -> None:
    """Compute the units of a stage by an executor, as far as that is possible.

    Args:
        shards: how.
        repository: the workspace's.
        planned: the stage.
        raise_noted: raises what has interrupted the run so far.

    Raises:
        KeyboardInterrupt: the run was interrupted.
        UserError: the stage reads files outside of the project, which a store does not take along.
    """
    if not shards.store:
        _compute_parts(shards, repository.root, planned, "", raise_noted)
        return
    root, stage = repository.root, planned.stage
    if far := [name for name in stage.deps if Path(name).is_absolute()]:
        raise UserError(f"it reads {far[0]}, outside of the project: workers do not get it")
    listed = run_git(root, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    inputs = [name for name in dict.fromkeys([*listed, *stage.deps]) if (root / name).exists()]
    store = SharedStore(f"{shards.store.rstrip('/')}/{planned.name}-{planned.key[:32]}")
    store.put_workspace(root, [Path(name) for name in inputs])
    try:
        _compute_parts(shards, root, planned, store.url, raise_noted)
    finally:
        store.receive(machine.state_root())
    store.remove()


def _compute_parts(
    shards: Shards, root: Path, planned: PlannedStage, store: str, raise_noted: Callable[[], None]
) -> None:
    from asterism.core.running.stage import PART

    words = shlex.split("\n".join(planned.stage.commands))
    of = shards.count * (_PARTS if shards.slurm is None else 1)
    waiting = [[*words, PART, f"{number}/{of}"] for number in range(of)]
    # Of the machine's own variables a worker elsewhere has its own.
    environment = {k: v for k, v in os.environ.items() if k.startswith("ASTERISM_")}
    with shards.executor(root, planned.name) as executor:
        for _ in range(_TRIES):
            given: dict[Future[int], list[str]] = {}
            try:
                for one in waiting:
                    given[executor.submit(run_part, str(root), one, environment, store)] = one
                while wait(given, _LOOK).not_done:
                    raise_noted()
            except BaseException:
                for future in given:
                    future.cancel()
                _end_processes()
                raise
            waiting = [words for future, words in given.items() if _was_killed(future)]
            if not waiting:
                return
    log.warning("parts were killed; the stage computes their units itself", parts=len(waiting))


def require_dask(address: str) -> str:
    """The address of a scheduler, if one answers there.

    Raises:
        UserError: none does, or Dask is not installed.
    """
    try:
        from distributed import Client

        with Client(address, timeout=_GRACE):
            return address
    except ImportError:
        raise UserError("a Dask cluster needs `pip install asterism[dask]`") from None
    except (OSError, ValueError) as error:
        raise UserError(f"no Dask scheduler answers at {address}: {error}") from None


def run_part(root: str, command: list[str], environment: Mapping[str, str], store: str = "") -> int:
    """Run the command of a part, wherever an executor has put it; its exit status.

    Args:
        root: the workspace.
        command: the stage's, for a part.
        environment: variables that it gets besides its machine's own.
        store: see :class:`Shards`.
    """

    def run(here: Path, more: Mapping[str, str], meanwhile: Callable[[], None]) -> int:
        binaries = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        variables = {**os.environ, **environment, **more, "PATH": binaries}
        process = subprocess.Popen(command, cwd=here, env=variables)
        _processes.append(process)
        try:
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK)
                meanwhile()
            return process.wait()
        finally:
            process.kill()
            _processes.remove(process)

    return run_part_in_copy(store, run) if store else run(Path(root), {}, lambda: None)


#: Those of this process that run.
_processes: list[subprocess.Popen[bytes]] = []


def _end_processes() -> None:
    for process in list(_processes):
        process.terminate()
    for process in list(_processes):
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
        process.kill()


def _was_killed(future: Future[int]) -> bool:
    """Whether a part was killed, rather than having ended: what it says itself, the stage will."""
    error = future.exception()
    if error is not None:
        log.warning("a part was lost", reason=" ".join(str(error).split()))
    return error is not None or future.result() < 0 or future.result() > 128


class _SlurmExecutor(ThreadPoolExecutor):
    """Each call is a job of Slurm, which a thread waits for."""

    def __init__(self, root: Path, settings: Mapping[str, Any]) -> None:
        import submitit

        super().__init__(1024)
        chosen = {key: value for key, value in settings.items() if key != "max_num_timeout"}
        self._jobs: list[Any] = []
        self._slurm = submitit.AutoExecutor(
            root / ".dvc" / "tmp" / "asterism" / "shards",
            cluster="slurm",
            slurm_max_num_timeout=settings["max_num_timeout"],
        )
        self._slurm.update_parameters(
            **{key if key in _COMMON else f"slurm_{key}": value for key, value in chosen.items()}
        )

    def submit(self, call: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """See :meth:`concurrent.futures.Executor.submit`."""
        from submitit.core.utils import FailedJobError

        try:
            with _not_inside_a_job():
                self._jobs.append(self._slurm.submit(_Requeued(call, *given)))
        except FailedJobError as error:
            rejected: Future[Any] = Future()
            rejected.set_exception(error)
            return rejected
        return super().submit(self._jobs[-1].result)

    def __exit__(self, *_: Any) -> None:
        for job in self._jobs:
            job.cancel(check=False)
        self.shutdown(wait=False, cancel_futures=True)


class _Requeued:
    """A call that submitit queues again when its job's time is over."""

    def __init__(self, call: Callable[..., Any], *given: Any) -> None:
        self.call, self.given = call, given

    def __call__(self) -> Any:
        """Make the call."""
        return self.call(*self.given)

    def checkpoint(self) -> Any:
        """Asked by submitit: what to queue again. The unfinished unit has its own checkpoint."""
        import submitit

        return submitit.helpers.DelayedSubmission(self)


@contextmanager
def _not_inside_a_job() -> Iterator[None]:
    """A job that is submitted from a job would otherwise take over resources of that one."""
    import submitit

    configuration = {key: os.environ[key] for key in ("SLURM_CONF",) if key in os.environ}
    with submitit.helpers.clean_env():
        os.environ.update(configuration)
        yield
