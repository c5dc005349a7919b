"""A workspace that DVC keeps: its stages, its cache, and the work on them.

What stages depend on is hashed here, and their results are found in the cache and in ``dvc.lock``,
which are plain files. DVC itself is asked for the stages of ``dvc.yaml``, for ``dvc commit`` once a
command has run, and for ``dvc checkout`` of data under ``dvc add``.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any

from asterism.core.files.locks import hold_lock
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import say
from asterism.dvc_hydra import lockfile, run_cache
from asterism.dvc_hydra.cache_files import require_plain
from asterism.dvc_hydra.cache_objects import objects_of, place_output, remove_output
from asterism.dvc_hydra.commands import LOCK, require_usable, run_dvc, run_dvc_quietly
from asterism.dvc_hydra.hashes import WorkspaceHashes
from asterism.dvc_hydra.local_settings import cache_folder, default_remote, link_kinds
from asterism.dvc_hydra.stage import (
    Stage,
    locked_outputs,
    makers_of,
    read_stages,
    unknown_stage,
)

#: An entry of ``dvc.lock`` or of the run-cache.
Entry = dict[str, Any]

#: What lets a shell read no settings of the user's.
_PLAIN = {"zsh": ["--no-rcs"], "bash": ["--noprofile", "--norc"]}


class StageFailedError(Exception):
    """A stage's command ended with an error.

    Attributes:
        stage: its name.
        exit_code: its command's exit status; of a signal its negative number.
    """

    def __init__(self, stage: str, exit_code: int) -> None:
        super().__init__(f"stage {stage} failed with exit status {exit_code}")
        self.stage, self.exit_code = stage, exit_code

    def __reduce__(self) -> tuple[Any, ...]:
        return StageFailedError, (self.stage, self.exit_code)


class Repository:
    """A workspace; several processes may each have one of the same.

    Args:
        root: the workspace, absolute.

    Attributes:
        root: the workspace.
        cache: the folder of its cache.
        hashes: what has been hashed of it.

    Raises:
        UserError: DVC keeps nothing there, or something else than DVC's files lies in their place.
    """

    def __init__(self, root: Path) -> None:
        if not (root / ".dvc").is_dir():
            raise UserError(f"{root} is not inside of a DVC repository: it has no folder .dvc")
        require_usable(root)
        self.root, self.cache = root, cache_folder(root)
        self.hashes = WorkspaceHashes(root, self.cache)
        self._objects = objects_of(root, self.cache)
        with self.lock():
            lockfile.mend_lockfile(root)

    @property
    def remote_folder(self) -> Path | None:
        """The folder that the default remote is; None where there is none, or it is a server."""
        remote = default_remote(self.root)
        if remote is None or "://" in remote[1]:
            return None
        return self.root / ".dvc" / remote[1]

    @cached_property
    def stages(self) -> dict[str, Stage]:
        """All stages by name."""
        return read_stages(self.root)

    def lock(self) -> AbstractContextManager[Any]:
        """Keep other processes of this package from ``dvc.lock``."""
        return hold_lock(self.root / ".dvc/tmp/asterism/workspace.lock")

    def in_order(self, targets: Sequence[str]) -> list[tuple[Stage, list[str]]]:
        """The stages of a run, each after those that it reads, with the names of those.

        Args:
            targets: names of stages, with or without a variant; none for all.

        Raises:
            UserError: there is no such stage, DVC cannot read the pipeline, or stages read each
                other's outputs.
        """
        found: dict[str, tuple[Stage, list[str]]] = {}
        makers = {path: stage.name for stage in self.stages.values() for path in stage.outputs}

        def add(name: str, below: tuple[str, ...]) -> None:
            if name in below:
                raise UserError(f"dvc.yaml: stages read each other: {' -> '.join((*below, name))}")
            if name not in found:
                stage = self.stages[name]
                above = sorted({n for path in stage.inputs for n in makers_of(path, makers)})
                for one in above:
                    add(one, (*below, name))
                found[name] = stage, above

        for name in self._wanted(targets):
            add(name, ())
        return list(found.values())

    def check_out_data(self) -> None:
        """Put files under ``dvc add`` into the workspace; outputs of stages need no such thing.

        Raises:
            UserError: the cache does not have them.
        """
        added = {n: stage.hashes for n, stage in self.stages.items() if not stage.command}
        for hashes in added.values():
            self._objects.require(hashes.values())
        if added:
            run_dvc_quietly(self.root, "checkout", "--", *added)
        for hashes in added.values():
            self._objects.require_copies(hashes)

    def is_up_to_date(self, stage: Stage) -> bool:
        """Whether ``dvc.lock`` and the workspace have the results of a stage, and the cache too.

        Raises:
            UserError: an object of the cache is not what its name says.
        """
        if not stage.command:
            self._objects.require(stage.hashes.values())
            found = {path: self.hashes.of(path) for path in stage.hashes}
            return all(f is not None and f["md5"] == stage.hashes[p] for p, f in found.items())
        with self.lock():
            entry = lockfile.read_locked_stage(self.root, stage.name)
        if entry is not None:
            self._objects.require(locked_outputs(self.root, entry).values())
        return stage.is_up_to_date(entry, self.hashes, self.cache)

    def find(self, stage: Stage) -> Entry | None:
        """What the cache has of a stage, by the run-cache or ``dvc.lock``; None for nothing.

        Its outputs count as there from here on: they are hashed no more.

        Raises:
            UserError: a dependency is not there, or an object is not what its name says.
        """
        if stage.always_runs or stage.is_frozen or not (stage.deps or stage.params):
            return None
        facts = stage.facts(self.hashes)
        entry = run_cache.find_entry(self.cache, facts) or self._locked(stage, facts)
        if entry is not None:
            self._objects.require(locked_outputs(self.root, entry).values())
            for out in entry["outs"]:
                self.hashes.learn(self.root / out["path"], out)
        return entry

    def take(self, entries: Mapping[str, Entry]) -> None:
        """Check out what :meth:`find` has found, and write it into ``dvc.lock``, all at once.

        Args:
            entries: by the stages' names.

        Raises:
            UserError: it cannot be put there, or changed in the cache meanwhile.
        """
        if not entries:
            return
        outputs = [locked_outputs(self.root, entry) for entry in entries.values()]
        for path in (path for paths in outputs for path in paths):
            remove_output(path)
        with self.lock(), hold_lock(self.root / LOCK):
            lockfile.set_entries(self.root, entries)
        kinds = link_kinds(self.root)
        for out in (out for entry in entries.values() for out in entry["outs"]):
            place_output(self.cache, kinds, self.root / out["path"], out)
        for paths in outputs:
            self._objects.require_copies(paths)

    def run(self, stage: Stage, before: Callable[[], None]) -> None:
        """Run a stage's command, and let DVC take its outputs into cache and ``dvc.lock``.

        Args:
            stage: whose upstream stages are up to date.
            before: called right before the command starts.

        Raises:
            StageFailedError: the command failed.
            UserError: DVC cannot take the outputs.
        """
        for name in set(stage.outs) - set(stage.kept):
            remove_output(self.root / name)
        say(f"Running stage '{stage.name}':")
        before()
        environment = os.environ | {"DVC_ROOT": str(self.root), "DVC_STAGE": stage.name}
        for line in stage.commands:
            say(f"> {line}")
            status = subprocess.run(_in_shell(line), cwd=self.root, env=environment, check=False)
            if status.returncode:
                raise StageFailedError(stage.name, status.returncode)
        with self.lock(), lockfile.protect_lockfile(self.root):
            run_dvc_quietly(self.root, "commit", "--force", "--", stage.name)
            entry = lockfile.read_locked_stage(self.root, stage.name)
            assert entry is not None
            self._objects.require(locked_outputs(self.root, entry).values())
        for out in entry.get("outs", []):
            self.hashes.learn(self.root / out["path"], out)

    def order(self) -> list[str]:
        """Names of the stages in ``dvc.lock``, in its order."""
        with self.lock():
            return lockfile.stage_names(self.root)

    def set_order(self, order: Sequence[str]) -> None:
        """Put the stages of ``dvc.lock`` into an order; those that it does not name come first."""
        with self.lock(), hold_lock(self.root / LOCK):
            lockfile.set_order(self.root, order)

    def stages_with_results(self) -> dict[str, Mapping[Path, str]]:
        """Outputs, with their hashes, of all stages that have some; by the stages' names."""
        found: dict[str, Mapping[Path, str]] = {}
        for name, stage in self.stages.items():
            with self.lock():
                entry = lockfile.read_locked_stage(self.root, name) if stage.command else None
            found[name] = stage.hashes if entry is None else locked_outputs(self.root, entry)
        return {name: outputs for name, outputs in found.items() if outputs}

    def clean_cache(self) -> None:
        """Remove and name what the rules reject in its cache, see :func:`.clean_run_cache`.

        Raises:
            UserError: objects are not what their names say.
        """
        run_cache.clean_run_cache(self.cache, self._objects)

    def require_objects(self) -> None:
        """Reject objects of all stages that are not what their names say.

        Raises:
            UserError: it names those of the first such stage.
        """
        for outputs in self.stages_with_results().values():
            self._objects.require(outputs.values())

    def check_out_results(self) -> int:
        """Put the results of all stages into the workspace; the exit status of DVC's command.

        Raises:
            UserError: an object has changed in the cache meanwhile.
        """
        results = self.stages_with_results()
        for outputs in results.values():
            self._objects.remove_cut_short(outputs)
        status = run_dvc(self.root, "checkout", "--", *results) if results else 0
        for outputs in results.values():
            self._objects.require_copies(outputs)
        return status

    def _wanted(self, targets: Sequence[str]) -> list[str]:
        own = [name for name, stage in self.stages.items() if stage.command]
        wanted = []
        for target in targets:
            named = [n for n in self.stages if target in (n, n.partition("@")[0])]
            if not named:
                raise unknown_stage(target, list(self.stages))
            wanted += named
        return wanted if targets else own

    def _locked(self, stage: Stage, facts: Mapping[str, Any]) -> Entry | None:
        """The entry of ``dvc.lock``, if it is of these facts and the cache has its outputs."""
        with self.lock():
            entry = lockfile.read_locked_stage(self.root, stage.name)
        if entry is None or run_cache.run_cache_key(entry) != run_cache.run_cache_key(facts):
            return None
        return entry if run_cache.has_outputs(self.cache, entry) else None


def open_checked_repository(root: Path) -> Repository:
    """A :class:`Repository`, after a scan of the whole cache, see :func:`require_plain`.

    A command does this once, when it starts: the scan takes longer the larger the cache is.

    Raises:
        UserError: the cache holds links.
    """
    repository = Repository(root)
    require_plain(repository.cache)
    return repository


def _in_shell(line: str) -> list[str]:
    shell = os.environ.get("SHELL") or "/bin/sh"
    return [shell, *_PLAIN.get(Path(shell).name, []), "-c", line]
