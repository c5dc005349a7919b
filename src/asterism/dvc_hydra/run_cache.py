"""What the run-cache has of stages. Its entries are plain files, which anybody may have left.

An entry lies under two hashes: ``runs/ab/KEY/VALUE``. The key is that of a stage's command, its
dependencies and parameters with their values, and the paths of its outputs. DVC writes, and for a
plain ``dvc repro`` reads, the same files; :func:`clean_run_cache` removes what the rules reject
before that.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_json
from asterism.core.messages.errors import UserError
from asterism.core.settings.regular_files import open_regular
from asterism.dvc_hydra import cache_files
from asterism.dvc_hydra.cache_files import object_path, warn_once
from asterism.dvc_hydra.cache_objects import CacheObjects, members_of
from asterism.dvc_hydra.lockfile import parse_as_dvc

#: What an entry has of a file that its key does not depend on.
_SIZES = {"size", "nfiles"}


def run_cache_key(facts: Mapping[str, Any]) -> str:
    """DVC's key of a stage: SHA-256 of its facts as JSON, without sizes and hashes of outputs.

    Args:
        facts: ``cmd``, ``deps``, ``params`` and ``outs``, as ``dvc.lock`` has them.
    """
    named = dict(facts) | {"outs": [out["path"] for out in facts.get("outs", [])]}
    return hashlib.sha256(json.dumps(_unsized(named), sort_keys=True).encode()).hexdigest()


def find_entry(folder: Path, facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """The newest entry of a stage whose outputs the cache has; None where there is none.

    Entries that the rules reject are named and removed.

    Args:
        folder: of the cache.
        facts: see :func:`run_cache_key`.
    """
    key = run_cache_key(facts)
    for path in _newest_first(folder / "runs" / key[:2] / key):
        entry = _read(path)
        if entry is not None and has_outputs(folder, entry):
            return entry
    return None


def fault_in_entry(entry: Mapping[str, Any], key: str) -> str | None:
    """Why an entry cannot be used; None if it can.

    Args:
        entry: as DVC's parser reads it.
        key: the folder that it lies in. An entry with other outputs than the stage's belongs into
            another.
    """
    for output in entry.get("outs", []):
        if reason := cache_files.fault_in_output(output):
            return reason
    if run_cache_key(entry) == key:
        return None
    paths = ", ".join(repr(out["path"]) for out in entry.get("outs", []))
    return f"it belongs to another stage than its key says (its outputs: {paths or 'none'})"


def has_outputs(folder: Path, entry: Mapping[str, Any]) -> bool:
    """Whether the cache has all files of the outputs that an entry names, and may be used.

    What they hold is looked at by :class:`~asterism.dvc_hydra.cache_objects.CacheObjects`.
    """
    for digest in (str(out["md5"]) for out in entry.get("outs", [])):
        path = object_path(folder, digest)
        if path.is_file() and digest.endswith(".dir") and (reason := fault_in_list_at(path)):
            warn_once(f"a list of a folder's files is not used: {reason}")
            return False
        files = [path, *(object_path(folder, d) for d in members_of(folder, digest).values())]
        if not all(map(os.path.lexists, files)):
            return False
    return True


def read_entries(folder: Path) -> Iterator[dict[str, Any]]:
    """All entries of a cache that the rules allow; the others are named and removed."""
    for path in sorted((folder / "runs").glob("*/*/*")):
        if path.suffix != ".tmp" and (entry := _read(path)) is not None:  # which DVC is writing
            yield entry


def clean_run_cache(folder: Path, objects: CacheObjects) -> None:
    """Remove and name the entries and lists of files in a cache that the rules reject.

    Raises:
        UserError: it names the objects that are not what their names say.
    """
    for path in sorted((folder / "files/md5").glob("*/*.dir")):
        if reason := fault_in_list_at(path):
            _remove(path, reason)
    for _ in read_entries(folder):
        pass
    objects.require_all()


def _read(path: Path) -> dict[str, Any] | None:
    if path.is_dir() or not os.path.lexists(path):
        return None
    if not path.is_file():
        _remove(path, "it is no plain file")
        return None
    try:
        with open_regular(path) as file:
            content = file.read(cache_files.LARGEST_ENTRY + 1)
    except FileNotFoundError:
        return None
    reason = cache_files.fault_in_text(content)
    if reason is None:
        try:
            entry = parse_as_dvc(content.decode(), path.name)
            reason = fault_in_entry(entry, path.parent.name)
            if reason is None:
                return entry
        except (UserError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as e:
            reason = f"it is not as DVC writes it ({e})"
    _remove(path, reason)
    return None


def _newest_first(folder: Path) -> list[Path]:
    """The whole entries in a folder of the run-cache, to which other runs write meanwhile.

    DVC writes an entry under a name that ends in ``.tmp`` and moves it. A damaged entry is removed
    by whoever reads it first.
    """
    try:
        found = [(p.stat().st_mtime, p) for p in folder.iterdir() if p.suffix != ".tmp"]
    except FileNotFoundError:
        return []
    return [path for _, path in sorted(found, reverse=True)]


def _unsized(facts: Any) -> Any:
    if isinstance(facts, list):
        return [_unsized(item) for item in facts]
    if isinstance(facts, dict):
        return {key: _unsized(value) for key, value in facts.items() if key not in _SIZES}
    return facts


def fault_in_list_at(path: Path) -> str | None:
    """Why the list of a folder's files in this file cannot be used; None if it can."""
    try:
        return cache_files.fault_in_list(read_json(path))
    except UserError as error:
        return str(error)


def _remove(path: Path, reason: str) -> None:
    with suppress(OSError):  # somebody else has, or it is not ours to remove
        path.unlink()
        path.parent.rmdir()  # where it was the only one: DVC takes an empty folder for an error
    warn_once(f"{os.path.relpath(path)} is not used and removed from the cache: {reason}")
