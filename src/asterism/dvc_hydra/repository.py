"""A workspace as DVC sees it: its stages, their order, its cache."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, chdir, contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra import guard, lockfile
from asterism.dvc_hydra.cache_files import require_plain
from asterism.dvc_hydra.documents import read_as_dvc
from asterism.dvc_hydra.errors import errors_of_dvc
from asterism.dvc_hydra.left_locks import require_usable
from asterism.dvc_hydra.private_notes import private_notes
from asterism.dvc_hydra.stage import Stage

#: The file that defines the pipeline.
PIPELINE = "dvc.yaml"


class UnknownStageError(Exception):
    """No stage has this name.

    Attributes:
        name: what was asked for.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Repository:
    """DVC's repository of a workspace; see :func:`open_repository`."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened

    @property
    def root(self) -> Path:
        """The workspace."""
        return Path(self._opened.root_dir)

    @property
    def cache(self) -> Path:
        """The folder of its cache."""
        return Path(self._opened.cache.local_cache_dir)

    @property
    def remote_folder(self) -> Path | None:
        """The folder that the default remote is; None where there is none, or it is a server."""
        from dvc.config import NoRemoteError

        try:
            remote = self._opened.cloud.get_remote()
        except NoRemoteError:
            return None
        return Path(remote.path) if remote.fs.protocol == "local" else None

    def lock(self) -> AbstractContextManager[Any]:
        """Keep other DVC processes out of the workspace."""
        lock: AbstractContextManager[Any] = self._opened.lock
        return lock

    def stages(self) -> dict[str, Stage]:
        """All stages by name."""
        return {stage.addressing: Stage(stage) for stage in self._opened.index.stages}

    def stages_with_results(self) -> list[str] | None:
        """Names of the stages all of whose results have hashes; None where all stages have."""
        stages = list(self._opened.index.stages)
        found = [stage for stage in stages if all(out.hash_info for out in stage.outs)]
        return None if len(found) == len(stages) else [stage.addressing for stage in found]

    def in_order(self, targets: Sequence[str]) -> list[tuple[Stage, list[str]]]:
        """The stages of a run, in the order of ``dvc repro``, each with those right above it.

        Args:
            targets: names of stages; none for all.

        Raises:
            UnknownStageError: there is no such stage.
            UserError: DVC cannot read the pipeline.
        """
        from dvc.repo.reproduce import collect_stages, get_active_graph, plan_repro
        from dvc.stage.exceptions import StageNotFound

        with errors_of_dvc(PIPELINE):
            try:
                index = self._opened.index
                graph = get_active_graph(index.graph)
                if targets:
                    wanted = collect_stages(self._opened, targets)
                else:  # DVC would read the file once more for them
                    wanted = [s for s in index.stages if s.path_in_repo == PIPELINE]
                order = plan_repro(graph, wanted)
            except StageNotFound as error:
                raise UnknownStageError(error.name) from None
        known = {stage.addressing for stage in order}
        above = {s: {up.addressing for up in graph.successors(s)} & known for s in order}
        return [(Stage(stage), sorted(above[stage])) for stage in order]

    def stage_names_with(self, parameters: str) -> list[str]:
        """Names of the stages, with their variants, that ``dvc.yaml`` has under parameters.

        Args:
            parameters: the text of a ``params.yaml``.
        """
        from dvc.parsing import DataResolver

        pipeline = read_as_dvc(self.root / PIPELINE)
        with tempfile.TemporaryDirectory() as folder, errors_of_dvc(PIPELINE):
            Path(folder, "params.yaml").write_text(parameters, encoding="utf-8")
            return list(DataResolver(self._opened, folder, deepcopy(pipeline)).get_keys())

    def check_out_data(self) -> None:
        """Put files under ``dvc add`` into the workspace; outputs of stages need no such thing.

        Raises:
            UserError: the cache does not have them.
        """
        added = [stage for stage in self.stages().values() if not stage.command]
        for stage in added:
            stage.require_objects()
        with errors_of_dvc("data under `dvc add` is not in the cache"):
            if added:
                self._opened.checkout([stage.name for stage in added])
        for stage in added:
            stage.require_copies()

    def enter(self, stages: Sequence[Stage]) -> None:
        """Write stages that :meth:`.Stage.restore` has restored into ``dvc.lock``, all at once."""
        lockfile.set_stages(self.root, [stage.found for stage in stages])

    def forget_listed(self) -> None:
        """Have DVC list anew what there is to send and to fetch.

        It keeps these lists and writes each in several steps. A command that is killed in between
        leaves a part of one, which the next takes for all of it: files are left out, and a push
        ends as if it had sent everything (DVC 3.67). To list them takes DVC a moment.
        """
        with self.lock():
            self._opened.drop_data_index()

    def clean_cache(self) -> None:
        """Remove and name what the rules reject in its cache, see :func:`.guard.clean`.

        Raises:
            UserError: objects are not what their names say.
        """
        guard.clean(self._opened)

    def require_objects(self) -> None:
        """Reject objects of all stages that are not what their names say.

        Raises:
            UserError: it names those of the first such stage.
        """
        for stage in self.stages().values():
            stage.require_objects()

    def remove_cut_short(self) -> None:
        """Remove what an interrupted checkout has left in the workspace."""
        with self.lock():
            for stage in self.stages().values():
                if stage.found.outs_cached():
                    stage.remove_cut_short()

    def require_copies(self) -> None:
        """Reject what has just been checked out of objects that have changed meanwhile.

        Raises:
            UserError: it names the output.
        """
        for stage in self.stages().values():
            if stage.found.outs_cached():
                stage.require_copies()


@contextmanager
def open_repository(root: Path) -> Iterator[Repository]:
    """A workspace's repository, which waits for other DVC processes in it.

    DVC looks up names of stages in the current directory, so that is the workspace meanwhile. It
    is guarded in this process from here on, see :mod:`asterism.dvc_hydra.guard`.

    Raises:
        UserError: there is none, or DVC cannot open it.
    """
    from dvc.exceptions import NotDvcRepoError
    from dvc.repo import Repo

    guard.guard_dvc()
    require_usable(root)
    with private_notes(root), chdir(root):
        try:
            opened = Repo(str(root), _wait_for_lock=True)
        except NotDvcRepoError as error:
            raise UserError(str(error)) from None
        with opened:
            yield Repository(opened)


@contextmanager
def open_checked_repository(root: Path) -> Iterator[Repository]:
    """As :func:`open_repository`, after a scan of the whole cache, see :func:`require_plain`.

    A command does this once, when it starts: the scan takes longer the larger the cache is.

    Raises:
        UserError: the cache holds links.
    """
    with open_repository(root) as repository:
        require_plain(repository.cache)
        yield repository
