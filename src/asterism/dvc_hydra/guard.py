"""Checks that this process adds to DVC: of run-cache entries, file lists and hashes that it reads.

The rules are in :mod:`asterism.dvc_hydra.cache_rules`. They are applied where DVC reads, so that
nothing can change between check and use. DVC's own command does not know them: for it,
:func:`clean` removes from a cache what they reject.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_json
from asterism.core.files.limits import require_room
from asterism.core.files.plain_files import require_no_link
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import say
from asterism.dvc_hydra import cache_rules
from asterism.dvc_hydra.cache_objects import objects_in
from asterism.dvc_hydra.stage import Stage


@cache
def guard_dvc() -> None:
    """Make DVC apply the rules, in this process, from now on."""
    _guard_entries()
    _guard_lists()
    _guard_paths()
    _guard_transfers()
    _guard_revisions()


def clean(repository: Any) -> None:
    """Remove and name the entries and lists in a repository's cache that the rules reject.

    Raises:
        UserError: it names the objects that are not what their names say.
    """
    entries = repository.stage_cache
    for path in sorted(Path(repository.cache.local.path).glob("*/*.dir")):
        if reason := _fault_in_list_file(path):
            _remove(path, reason)
    for path in sorted(Path(entries.cache_dir).glob("*/*/*")):
        if path.suffix != ".tmp":  # which DVC is writing
            with suppress(UserError):  # about one object; all are named below
                entries._load_cache(path.parent.name, path.name)
    objects_in(repository).require_all()


def require_results(root: Path, stages: Iterable[Stage]) -> None:
    """Reject stages with outputs outside the results' folders: DVC deletes outputs before a run.

    Raises:
        UserError: it names the stage and the path, or a link on the way to one.
    """
    for stage in stages:
        for output in stage.outputs:
            path = os.path.relpath(output, root)
            if not cache_rules.is_result(path):
                raise UserError(
                    f"dvc.yaml: stage {stage.name} writes {path!r}, but stages write only "
                    f"below {', '.join(cache_rules.RESULTS)}"
                )
            require_no_link(root, (root / path).parent)


def _guard_entries() -> None:
    from dvc.stage.cache import StageCache

    own = StageCache._load_cache

    def load(self: Any, key: str, value: str) -> Any:
        path = Path(self._get_cache_path(key, value))
        if not path.is_file():
            return None
        with path.open("rb") as file:
            reason = cache_rules.fault_in_text(file.read(cache_rules.LARGEST_ENTRY + 1))
        if reason is None:
            try:
                entry = own(self, key, value)
                reason = None if entry is None else cache_rules.fault_in_entry(entry, key)
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                reason = f"DVC cannot read it ({error})"
            if reason is None:
                if entry is not None:
                    objects_in(self.repo).require(out["md5"] for out in entry.get("outs", []))
                return entry
        _remove(path, reason)
        return None

    StageCache._load_cache = load


def _guard_lists() -> None:
    from dvc_data.hashfile.tree import Tree
    from dvc_objects.errors import ObjectFormatError

    tree: Any = Tree
    own, own_load = tree.from_list.__func__, tree.load.__func__

    def load(cls: Any, odb: Any, hash_info: Any, hash_name: str | None = None) -> Any:
        obj = odb.get(hash_info.value)
        try:
            require_room(obj.fs.size(obj.path) or 0, "limits.text_mb", f"{obj.path} has a size")
            return own_load(cls, odb, hash_info, hash_name)
        except UserError as error:
            reason = str(error)
        except RecursionError:
            reason = f"{obj.path} is nested too deeply"
        raise _rejected(reason)

    def from_list(cls: Any, listed: Any, hash_name: str | None = None) -> Any:
        if reason := cache_rules.fault_in_list(listed):
            raise _rejected(reason)
        return own(cls, listed, hash_name=hash_name)

    def _rejected(reason: str) -> Exception:
        _say(f"a list of a folder's files is not used: {reason}")
        return ObjectFormatError(reason)  # as of a damaged one: the stage runs

    tree.from_list, tree.load = classmethod(from_list), classmethod(load)


def _guard_paths() -> None:
    from dvc_data.hashfile.db.local import LocalHashFileDB
    from dvc_objects.errors import ObjectFormatError

    store: Any = LocalHashFileDB
    own = store.oid_to_path

    def oid_to_path(self: Any, oid: str) -> Any:
        if not cache_rules.is_object_name(oid):
            raise ObjectFormatError(f"{oid!r} is no object's hash")
        return own(self, oid)

    store.oid_to_path = oid_to_path


def _guard_transfers() -> None:
    from dvc.stage.cache import StageCache

    own = StageCache.transfer

    def transfer(self: Any, from_odb: Any, to_odb: Any, force: bool = True) -> Any:
        files, find = from_odb.fs, from_odb.fs.find
        files.find = lambda runs: [path for path in find(runs) if _is_entry(path, runs)]
        try:
            return own(self, from_odb, to_odb, force)
        finally:
            del files.find

    StageCache.transfer = transfer


def _guard_revisions() -> None:
    """What another commit says of remotes and of other repositories is not done.

    DVC reads each commit's own settings, of which some are commands, and fetches what it imports
    from wherever it says.
    """
    from dvc.fs import LocalFileSystem
    from dvc.repo import Repo
    from dvc.repo.index import Index

    read_all: Any = Index
    reset, collect = Repo._reset, read_all.from_repo.__func__

    def keep_config(self: Any) -> None:
        config = self.__dict__.get("config")
        reset(self)
        if config is not None:
            self.__dict__["config"] = config

    def from_repo(cls: Any, repository: Any, *arguments: Any, **options: Any) -> Any:
        found = collect(cls, repository, *arguments, **options)
        # DVC reads another commit through a file system of its own, which calls itself local too.
        if not isinstance(repository.fs, LocalFileSystem):
            found.stages = [stage for stage in found.stages if not _leads_elsewhere(stage)]
        return found

    Repo._reset = keep_config
    read_all.from_repo = classmethod(from_repo)


def _leads_elsewhere(stage: Any) -> bool:
    """Whether a stage's outputs come from another repository or address, or lie at one."""
    return bool(stage.is_import) or any(out.protocol != "local" for out in stage.outs)


def _is_entry(path: str, runs: str) -> bool:
    """Whether a file below a folder of the run-cache has an entry's name.

    An object store may hold any name. DVC makes a path of it, with dots one outside the cache.
    """
    *above, start, key, value = path.replace(os.sep, "/").split("/")
    named = cache_rules.ENTRY.fullmatch(f"{start}/{key}/{value}")
    if named and "/".join(above) == runs.replace(os.sep, "/"):
        return True
    _say(f"{path!r} is left where it is: no entry of a run-cache has such a name")
    return False


def _fault_in_list_file(path: Path) -> str | None:
    try:
        return cache_rules.fault_in_list(read_json(path))
    except UserError as error:
        return str(error)


def _remove(path: Path, reason: str) -> None:
    with suppress(OSError):  # somebody else has, or it is not ours to remove
        path.unlink()
        path.parent.rmdir()  # where it was the only one: DVC takes an empty folder for an error
    _say(f"{os.path.relpath(path)} is not used and removed from the cache: {reason}")


@cache
def _say(line: str) -> None:
    """Write each warning once; DVC reads the same file several times."""
    say(f"warning: {line}", error=True)
