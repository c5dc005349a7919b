"""Shards: processes that compute units of a long stage while it runs, here or on a cluster.

A stage whose entry in ``dvc.yaml`` says ``meta: {shards: true}`` cuts its work into units (see
:mod:`asterism.core.resuming.work_units`). Its shards run the stage's own command in the stage's own
workspace, with :data:`~asterism.core.running.stage.SHARD` behind it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from asterism.core.messages.console import get_logger

log = get_logger(__name__)

#: Seconds that a shard has to end when it is told to.
GRACE = 10.0

#: Settings of Hydra's Slurm launcher that submitit knows for all kinds of clusters.
_COMMON = {
    "timeout_min", "cpus_per_task", "gpus_per_node", "tasks_per_node", "mem_gb", "nodes", "name",
    "stderr_to_stdout",
}  # fmt: skip


class _Process(Protocol):
    def stop(self) -> None: ...


@dataclass(frozen=True)
class Shards:
    """How a long stage is spread.

    Attributes:
        count: processes that compute units, the stage itself among them.
        slurm: settings of the launcher whose jobs the shards are; None for processes here. What
            they leave open follows from the stage's kind.
    """

    count: int = 1
    slurm: Mapping[str, Any] | None = None

    def start(self, root: Path, stage: str, command: str) -> list[_Process]:
        """Start the shards of a stage.

        Args:
            root: the workspace.
            stage: its name.
            command: its command.

        Raises:
            UserError: see :func:`~asterism.sweep.resources.read_table`.
        """
        # A point whose stages are cached needs none of it.
        from asterism.core.running.stage import SHARD
        from asterism.sweep import resources

        words = [*shlex.split(command), SHARD]
        if self.slurm is None:
            return [_Local(root, words) for _ in range(self.count - 1)]
        request = resources.read_table(root).request([stage])
        settings = {**self.slurm, **resources.fill(self.slurm, request)}
        return _submit(root, words, self.count - 1, settings)


class Helpers:
    """The shards of one run of a stage: none until it is known that its command runs."""

    def __init__(self, shards: Shards, root: Path, stage: str, command: str) -> None:
        self._shards, self._root, self._stage, self._command = shards, root, stage, command
        self._started: list[_Process] = []

    def start(self) -> None:
        """Start them."""
        self._started = self._shards.start(self._root, self._stage, self._command)

    def stop(self) -> None:
        """End those that still run or wait: the stage has ended."""
        for process in self._started:
            process.stop()


class _Local:
    def __init__(self, root: Path, command: list[str]) -> None:
        self._process = subprocess.Popen(command, cwd=root)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class ShardJob:
    """What a job of the cluster runs; submitit queues it again when its time is over."""

    def __init__(self, root: Path, command: list[str]) -> None:
        self.root, self.command = root, command

    def __call__(self) -> int:
        """Run the shard; its exit status."""
        return subprocess.run(self.command, cwd=self.root, check=False).returncode

    def checkpoint(self) -> Any:
        """Asked by submitit: what to queue again. The unfinished unit has its own checkpoint."""
        import submitit

        return submitit.helpers.DelayedSubmission(self)


class _Job:
    def __init__(self, job: Any) -> None:
        self._job = job

    def stop(self) -> None:
        self._job.cancel(check=False)


def _submit(
    root: Path, command: list[str], count: int, settings: Mapping[str, Any]
) -> list[_Process]:
    import submitit

    chosen = {key: value for key, value in settings.items() if key != "max_num_timeout"}
    executor = submitit.AutoExecutor(
        root / ".dvc" / "tmp" / "asterism" / "shards",
        cluster="slurm",
        slurm_max_num_timeout=settings["max_num_timeout"],
    )
    executor.update_parameters(
        **{key if key in _COMMON else f"slurm_{key}": value for key, value in chosen.items()}
    )
    try:
        with _not_inside_a_job(), executor.batch():
            jobs = [executor.submit(ShardJob(root, command)) for _ in range(count)]
    except submitit.core.utils.FailedJobError as error:
        reason = " ".join(str(error).split())
        log.warning("no shards: Slurm took no jobs; the stage goes on alone", reason=reason)
        return []
    return [_Job(job) for job in jobs]


@contextmanager
def _not_inside_a_job() -> Iterator[None]:
    """A job that is submitted from a job would otherwise take over resources of that one."""
    import submitit

    configuration = {key: os.environ[key] for key in ("SLURM_CONF",) if key in os.environ}
    with submitit.helpers.clean_env():
        os.environ.update(configuration)
        yield
