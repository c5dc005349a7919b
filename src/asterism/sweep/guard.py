"""DVC as this process uses it refuses what no honest cache or remote holds.

Rules are in :mod:`asterism.sweep.foreign`. They hold wherever DVC reads, at the moment it does, so
that nothing comes in between. DVC's own command knows nothing of them: for it, :func:`clean` takes
from a cache what they refuse.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from asterism.core.errors import UserError
from asterism.sweep import foreign


@cache
def guard_dvc() -> None:
    """Let DVC keep to the rules in this process from now on."""
    _guard_entries()
    _guard_lists()
    _guard_paths()
    _guard_transfers()


def clean(repository: Any) -> None:
    """Take from a repository's cache the entries and lists that the rules refuse, saying which."""
    entries = repository.stage_cache
    for path in sorted(Path(entries.cache_dir).glob("*/*/*")):
        if path.suffix != ".tmp":  # which DVC is writing
            entries._load_cache(path.parent.name, path.name)
    for path in sorted(Path(repository.cache.local.path).glob("*/*.dir")):
        if reason := _why_no_list_in(path):
            _remove(path, reason)


def require_results(root: Path, stages: Iterable[Any]) -> None:
    """Refuse stages that would write elsewhere than results belong, which DVC empties for them.

    Raises:
        UserError: it names the stage and the path.
    """
    for stage in stages:
        for output in stage.outs:
            path = os.path.relpath(output.fs_path, root)
            if not foreign.is_result(path):
                raise UserError(
                    f"dvc.yaml: stage {stage.addressing} writes {path!r}: stages write below "
                    f"{', '.join(foreign.RESULTS)} only"
                )


def _guard_entries() -> None:
    from dvc.stage.cache import StageCache

    own = StageCache._load_cache

    def load(self: Any, key: str, value: str) -> Any:
        path = Path(self._get_cache_path(key, value))
        if not path.is_file():
            return None
        with path.open("rb") as file:
            reason = foreign.why_no_text(file.read(foreign.LARGEST_ENTRY + 1))
        if reason is None:
            try:
                entry = own(self, key, value)
                reason = None if entry is None else foreign.why_no_entry(entry, key)
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                reason = f"DVC cannot read it ({error})"
            if reason is None:
                return entry
        _remove(path, reason)
        return None

    StageCache._load_cache = load


def _guard_lists() -> None:
    from dvc_data.hashfile.tree import Tree
    from dvc_objects.errors import ObjectFormatError

    tree: Any = Tree
    own = tree.from_list.__func__

    def from_list(cls: Any, listed: Any, hash_name: str | None = None) -> Any:
        if reason := foreign.why_no_list(listed):
            _say(f"a list of a folder's files is not used: {reason}")
            raise ObjectFormatError(reason)  # as of a damaged one: the stage runs
        return own(cls, listed, hash_name=hash_name)

    tree.from_list = classmethod(from_list)


def _guard_paths() -> None:
    from dvc_data.hashfile.db.local import LocalHashFileDB
    from dvc_objects.errors import ObjectFormatError

    store: Any = LocalHashFileDB
    own = store.oid_to_path

    def oid_to_path(self: Any, oid: str) -> Any:
        if not foreign.is_place(oid):
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


def _is_entry(path: str, runs: str) -> bool:
    """Whether a file below a folder of the run-cache has an entry's name.

    A store of objects may hold any name, and DVC makes a path of it: of one with dots a path
    outside of the cache.
    """
    *above, start, key, value = path.replace(os.sep, "/").split("/")
    named = foreign.ENTRY.fullmatch(f"{start}/{key}/{value}")
    if named and "/".join(above) == runs.replace(os.sep, "/"):
        return True
    _say(f"{path!r} is left where it is: no entry of a run-cache has such a name")
    return False


def _why_no_list_in(path: Path) -> str | None:
    try:
        return foreign.why_no_list(json.loads(path.read_bytes()))
    except (ValueError, RecursionError):
        return "it is not JSON"


def _remove(path: Path, reason: str) -> None:
    with suppress(OSError):  # somebody else has, or it is not ours to remove
        path.unlink()
        path.parent.rmdir()  # where it was the only one: DVC takes an empty folder for an error
    _say(f"{os.path.relpath(path)} is not used and removed from the cache: {reason}")


@cache
def _say(line: str) -> None:
    """Tell each finding once; DVC reads the same file several times."""
    sys.stderr.write(f"warning: {line}\n")
