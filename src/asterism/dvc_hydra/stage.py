"""A stage of a workspace's pipeline: its facts, and DVC's work on it."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra import lockfile, run_cache
from asterism.dvc_hydra.announcements import Announcements
from asterism.dvc_hydra.cache_objects import hashes_of_outputs, objects_in
from asterism.dvc_hydra.hashes import Hashes


class CommandFailedError(Exception):
    """A stage's command ended with an error.

    Attributes:
        exit_code: its exit status; of a signal its negative number.
    """

    def __init__(self, exit_code: int) -> None:
        super().__init__(f"exit status {exit_code}")
        self.exit_code = exit_code


class Stage:
    """A stage of ``dvc.yaml``, or data under ``dvc add``, which are a stage without a command.

    It stays good while other processes run other stages of the workspace.

    Args:
        found: DVC's stage, for this package alone.
    """

    def __init__(self, found: Any) -> None:
        self.found = found

    @property
    def name(self) -> str:
        """As ``dvc repro`` takes it, ``fuzz@state``."""
        return str(self.found.addressing)

    @property
    def command(self) -> str:
        """What it runs; empty for data under ``dvc add``."""
        return self.found.cmd or ""

    @property
    def is_long(self) -> bool:
        """Whether its entry in ``dvc.yaml`` says ``meta: {shards: true}``."""
        return bool((self.found.meta or {}).get("shards"))

    @property
    def outputs(self) -> list[Path]:
        """Files and folders that it writes, absolute."""
        return [Path(out.fs_path) for out in self.found.outs]

    @property
    def inputs(self) -> list[Path]:
        """Files and folders that it depends on, absolute; ``params.yaml`` among them."""
        return [Path(dep.fs_path) for dep in self.found.deps]

    @property
    def output_names(self) -> list[str]:
        """The same as DVC spells them, sorted."""
        return sorted(str(out) for out in self.found.outs)

    def hashes_of_inputs(self, hashes: Hashes, made: Container[Path]) -> list[list[Any]]:
        """What it depends on, by name, with its hash or the values of its parameters.

        Args:
            hashes: takes in what is computed.
            made: paths that other stages write, which are left out.

        Raises:
            UserError: a file is not there.
        """
        outer = [dep for dep in sorted(self.found.deps, key=str) if Path(dep.fs_path) not in made]
        for dep in outer:
            hashes.save(dep)
        return [[str(dep), dep.hash_info.value] for dep in outer]

    def changed(self) -> bool:
        """Whether ``dvc.lock`` or the workspace differ from it.

        Raises:
            UserError: an object of the cache is not what its name says.
        """
        self.require_objects()
        return bool(self.found.changed())

    def require_objects(self) -> None:
        """Reject its outputs' objects in the cache that are not what their names say.

        Raises:
            UserError: it names the objects.
        """
        objects_in(self.found.repo).require(hashes_of_outputs(self.found).values())

    def require_copies(self) -> None:
        """Reject outputs that were checked out of objects that have changed meanwhile.

        Raises:
            UserError: it names the output.
        """
        objects_in(self.found.repo).require_copies(hashes_of_outputs(self.found))

    def remove_cut_short(self) -> None:
        """Remove what an interrupted checkout has left of its outputs, within :meth:`lock`."""
        objects_in(self.found.repo).remove_cut_short(hashes_of_outputs(self.found))

    def lock(self) -> AbstractContextManager[Any]:
        """Keep other DVC processes out of the workspace, except while the command runs."""
        lock: AbstractContextManager[Any] = self.found.repo.lock
        return lock

    def restore(self, hashes: Hashes) -> bool:
        """Check out what the cache has of it, see :func:`~asterism.dvc_hydra.run_cache.restore`."""
        restored = run_cache.restore(self.found, hashes)
        if restored:
            self.require_copies()
        return restored

    def bring_up_to_date(self, hashes: Hashes | None, before: Sequence[Callable[[], None]]) -> bool:
        """As ``dvc repro --single-item``, within :meth:`lock`; its upstream stages are so already.

        Args:
            hashes: what is known of a workspace that nobody else changes and that holds none of the
                stage's results, which saves most of DVC's own time; None to let DVC look at all.
            before: called right before the command starts, one after another.

        Returns:
            Whether its command ran, rather than its outputs being there or in the cache.

        Raises:
            CommandFailedError: the command failed.
            UserError: DVC could not run it, or see :meth:`require_objects`.
        """
        from dvc.exceptions import CacheLinkError, DvcException
        from dvc.stage.exceptions import StageCmdFailedError

        if hashes is None:
            self.require_objects()
        try:
            with lockfile.written_here(), Announcements(*before) as said:
                if self._renew(hashes) if hashes is not None else self.found.reproduce():
                    (self.require_objects if said.ran else self.require_copies)()
                    self.found.dump(update_pipeline=False)
        except StageCmdFailedError as error:  # DVC keeps the status in the message only
            raise CommandFailedError(int(str(error).rpartition(" ")[2])) from None
        except CacheLinkError:  # which does not say why
            folders = sorted({str(path.parent) for path in self.outputs})
            raise UserError(
                f"stage {self.name}: what the cache has cannot be put into {', '.join(folders)}: "
                "give yourself the right to write there, or make room"
            ) from None
        except DvcException as error:
            raise UserError(f"stage {self.name}: {error}") from None
        return said.ran

    def _renew(self, hashes: Hashes) -> bool:
        """DVC's ``reproduce`` of a stage without results, inputs hashed once; always True."""
        if not self.restore(hashes):
            self.found.run(force=True)
            for out in self.found.outs:
                hashes.learn(out)
        return True
