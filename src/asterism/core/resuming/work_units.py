"""The units of a long stage's work, each computed by whichever process comes to it first.

A long stage cuts its work into units by its parameters alone: islands of a
campaign, groups of seeds, groups of models.
Any number of processes that share the state root, the stage itself and its *shards*, go through
the units at the same time. Each takes the next that is neither finished nor in another's hands;
the stage then merges all of them in their order. So the result does not depend on how many shards
there were, where they ran, or which of them died.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

from asterism.core.files.locks import held, held_now
from asterism.core.messages.console import get_logger
from asterism.core.resuming import saved_folders
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.state import Run


class Result(Protocol):
    """What a unit's computation gives."""

    def save(self, folder: Path) -> None:
        """Write it into an existing folder."""


log = get_logger(__name__)

R = TypeVar("R", bound=Result)

#: How often a unit is looked at that another process is saving.
_LOOKS = 3

#: Computes one unit. The checkpoint, where there is one, keeps the state of the unfinished unit.
Job = Callable[[Checkpoint | None], R]


def split_evenly(budget: int, units: int) -> list[int]:
    """The budget of each unit, as equal as may be, larger ones first."""
    return [budget // units + (unit < budget % units) for unit in range(units)]


class ShardEnded(Exception):  # noqa: N818  (no error: a shard has nothing left to do)
    """A shard has done its share; merging is the stage's own."""


class WorkUnits:
    """WorkUnits that this process computes alone, one after another, and keeps nowhere."""

    def gather(self, jobs: Mapping[str, Job[R]], load: Callable[[Path], R]) -> list[R]:
        """The results of all units, in the order of ``jobs``.

        Args:
            jobs: how to compute each unit, by a name that can be a folder's.
            load: reads what a result has saved.
        """
        return [compute(None) for compute in jobs.values()]

    def finished(self, names: Iterable[str]) -> set[str]:
        """Those of some units that are finished and kept, whoever computed them."""
        return set()

    def finish(self) -> None:
        """The stage has written its outputs."""


ALONE = WorkUnits()


class SharedWorkUnits(WorkUnits):
    """WorkUnits that several processes compute together, kept until DVC has committed the outputs.

    Args:
        stage: name of the stage, with its variant (``"fuzz-state"``).
        key: what the result depends on, see
            :func:`~asterism.core.resuming.checkpoints.dependency_key`.
        is_shard: whether this process helps the stage rather than being it.
        address: the stage as DVC calls it, ``"fuzz@state"``.
        outputs: what the stage writes, relative to the workspace.
    """

    def __init__(
        self,
        stage: str,
        key: str,
        is_shard: bool = False,
        address: str = "",
        outputs: Sequence[Path] = (),
    ) -> None:
        self._stage, self._run = stage, Run(stage, key[:32])
        self._is_shard, self._address, self._outputs = is_shard, address, outputs
        self._before = self._run.token()
        self._using = ExitStack()

    def gather(self, jobs: Mapping[str, Job[R]], load: Callable[[Path], R]) -> list[R]:
        """See :meth:`WorkUnits.gather`. Nobody removes the units from here on until :meth:`finish`.

        Raises:
            ShardEnded: this is a shard, and every unit is finished or in another's hands.
        """
        self._using.enter_context(self._run.in_use())
        if finished := self.finished(jobs):
            there = f"{len(finished)} of {len(jobs)}"
            log.info("goes on", stage=self._stage, finished_units=there)
        for name, compute in jobs.items():
            if self._is_late():
                break
            with ExitStack() as held_unit:
                try:
                    held_unit.enter_context(held_now(self._run.lock(name)))
                except BlockingIOError:
                    continue  # another process is at it
                self._finish(name, compute)
        if self._is_shard:
            raise ShardEnded
        return [self._result(name, compute, load) for name, compute in jobs.items()]

    def finished(self, names: Iterable[str]) -> set[str]:
        """See :meth:`WorkUnits.finished`."""
        return {name for name in names if self._is_there(name)}

    def so_far(self, names: Iterable[str], load: Callable[[Path], R]) -> list[R]:
        """Results of finished units, and what is saved of those that are being computed.

        Nothing is computed, locked or removed, so it may be called while processes are at work.

        Args:
            names: of the units.
            load: reads a finished unit or a saved state, whose folder may be gone afterwards.
        """
        found = []
        for name in names:
            for _ in range(_LOOKS):  # a state may be replaced by the next one at any moment
                unit, checkpoint = self._run.unit(name), Checkpoint(self._run.checkpoint(name))
                folder = unit if self._is_there(name) else checkpoint.latest()
                if folder is None:
                    break
                with suppress(saved_folders.DamagedError):
                    found.append(saved_folders.read(folder, load))
                    break
        return found

    def finish(self) -> None:
        """See :meth:`WorkUnits.finish`. It tells shards that are late to leave the units alone."""
        self._run.finish(self._address, self._outputs)
        self._using.close()

    def _is_late(self) -> bool:
        """Whether this is a shard whose stage has finished since the shard was started."""
        return self._is_shard and self._run.token() not in (None, self._before)

    def _result(self, name: str, compute: Job[R], load: Callable[[Path], R]) -> R:
        """A unit's result, computed again where what is kept of it is damaged."""
        with held(self._run.lock(name)):  # whoever is at it finishes it, or dies and leaves it
            self._finish(name, compute)
        try:
            return saved_folders.read(self._run.unit(name), load)
        except saved_folders.DamagedError:
            pass
        with held(self._run.lock(name)):
            try:
                return saved_folders.read(
                    self._run.unit(name), load
                )  # another process was here first
            except saved_folders.DamagedError as reason:
                saved_folders.set_aside(self._run.unit(name), reason)
            self._finish(name, compute)
            return load(self._run.unit(name))

    def _finish(self, name: str, compute: Job[R]) -> None:
        if self._is_there(name):
            return
        checkpoint = Checkpoint(self._run.checkpoint(name))
        if (state := checkpoint.latest()) is not None:
            since = f"{datetime.fromtimestamp(state.lstat().st_mtime):%Y-%m-%d %H:%M:%S}"
            log.info("goes on", stage=self._stage, unit=name, saved=since)
        result = compute(checkpoint)
        saved_folders.write(self._run.unit(name), result.save)
        checkpoint.discard()

    def _is_there(self, name: str) -> bool:
        return os.path.lexists(self._run.unit(name))
