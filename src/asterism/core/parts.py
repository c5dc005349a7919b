"""The parts of a long stage's work, each computed by whichever process comes to it first.

A long stage cuts its work into parts by its parameters alone: campaigns, groups of seeds, chains.
Any number of processes that share the state root, the stage itself and its *shards*, go through
the parts at the same time. Each takes the next that is neither finished nor in another's hands;
the stage then merges all of them in their order. So the result does not depend on how many shards
there were, where they ran, or which of them died.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

import psutil

from asterism.core import machine
from asterism.core.artifacts import replacing
from asterism.core.checkpoints import Checkpoint
from asterism.core.console import get_logger
from asterism.core.locks import held, held_now


class Result(Protocol):
    """What a part's computation gives."""

    def save(self, folder: Path) -> None:
        """Write it into an existing folder."""


log = get_logger(__name__)

R = TypeVar("R", bound=Result)

#: Computes one part. The checkpoint, where there is one, keeps the state of the unfinished part.
Job = Callable[[Checkpoint | None], R]


def shares(budget: int, parts: int) -> list[int]:
    """The budget of each part, as equal as may be, larger ones first."""
    return [budget // parts + (part < budget % parts) for part in range(parts)]


class ShardEnded(Exception):  # noqa: N818  (no error: a shard has nothing left to do)
    """A shard has done its share; merging is the stage's own."""


class Parts:
    """Parts that this process computes alone, one after another, and keeps nowhere."""

    def gather(self, jobs: Mapping[str, Job[R]], load: Callable[[Path], R]) -> list[R]:
        """The results of all parts, in the order of ``jobs``.

        Args:
            jobs: how to compute each part, by a name that can be a folder's.
            load: reads what a result has saved.
        """
        return [compute(None) for compute in jobs.values()]

    def discard(self) -> None:
        """Forget what is kept: the stage has finished."""


ALONE = Parts()


class SharedParts(Parts):
    """Parts that several processes compute together, kept until the stage has finished.

    Args:
        stage: name of the stage, with its variant (``"fuzz-state"``).
        key: what the result depends on, see :func:`~asterism.core.checkpoints.dependency_key`.
        is_shard: whether this process helps the stage rather than being it.
    """

    def __init__(self, stage: str, key: str, is_shard: bool = False) -> None:
        self._stage, self._key = stage, key
        self._root = machine.state_root() / "parts" / stage / key[:32]
        self._is_shard = is_shard

    def gather(self, jobs: Mapping[str, Job[R]], load: Callable[[Path], R]) -> list[R]:
        """See :meth:`Parts.gather`.

        Raises:
            ShardEnded: this is a shard, and every part is finished or in another's hands.
        """
        if finished := sum(self._folder(name).exists() for name in jobs):
            log.info("goes on", stage=self._stage, finished_parts=f"{finished} of {len(jobs)}")
        for name, compute in jobs.items():
            if self._is_late():
                break
            with ExitStack() as held_part:
                try:
                    held_part.enter_context(held_now(self._lock(name)))
                except BlockingIOError:
                    continue  # another process is at it
                self._finish(name, compute)
        if self._is_shard:
            raise ShardEnded
        for name, compute in jobs.items():
            with held(self._lock(name)):  # whoever is at it finishes it, or dies and leaves it
                self._finish(name, compute)
        return [load(self._folder(name)) for name in jobs]

    def discard(self) -> None:
        """See :meth:`Parts.discard`. What stays tells shards that are late to leave it alone."""
        self._root.mkdir(parents=True, exist_ok=True)
        self._finished.touch()
        for path in self._root.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path != self._finished:
                path.unlink(missing_ok=True)

    def _is_late(self) -> bool:
        """Whether this is a shard whose stage has finished since the shard was started."""
        if not self._is_shard or not self._finished.exists():
            return False
        return self._finished.stat().st_mtime > psutil.Process().create_time()

    @property
    def _finished(self) -> Path:
        return self._root / "finished"

    def _finish(self, name: str, compute: Job[R]) -> None:
        if self._folder(name).exists():
            return
        checkpoint = Checkpoint(f"{self._stage}-{name}", self._key)
        if (state := checkpoint.load()) is not None:
            saved = f"{datetime.fromtimestamp(state.stat().st_mtime):%Y-%m-%d %H:%M:%S}"
            log.info("goes on", stage=self._stage, part=name, saved=saved)
        result = compute(checkpoint)
        with replacing(self._folder(name)) as temporary:
            temporary.mkdir()
            result.save(temporary)
        checkpoint.discard()

    def _folder(self, name: str) -> Path:
        return self._root / name

    def _lock(self, name: str) -> Path:
        return self._root / f"{name}.lock"
