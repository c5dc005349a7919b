"""Hashes of files and folders as DVC writes them into ``dvc.lock``, computed from the files.

A file's hash is its MD5. A folder's is that of the list of its files, a JSON text which lies in
DVC's cache under this hash too, with ``.dir`` behind it. What ``.dvcignore`` names is left out.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec

from asterism.core.messages.errors import UserError, reading
from asterism.dvc_hydra.cache_files import object_path
from asterism.dvc_hydra.cache_objects import members_of
from asterism.dvc_hydra.documents import read_as_dvc

#: Hash, size, and for a folder the number of its files, by the keys of ``dvc.lock``.
Facts = dict[str, Any]

#: What DVC leaves out besides.
_NEVER = (".hg/", ".git/", ".git", ".dvc/")


class Hashes:
    """What a workspace's files hash to; each path is hashed once.

    Args:
        root: the workspace.
        cache: the folder of its cache.
    """

    def __init__(self, root: Path, cache: Path) -> None:
        self._root, self._cache = root, cache
        self._known: dict[Path, Facts] = {}
        self._documents: dict[str, Any] = {}
        ignore = root / ".dvcignore"
        lines = ignore.read_text(encoding="utf-8").splitlines() if ignore.is_file() else []
        self._ignored = GitIgnoreSpec.from_lines([*_NEVER, *lines])

    def of(self, path: Path) -> Facts | None:
        """The facts of a file or a folder; None where it is not there.

        Args:
            path: absolute.
        """
        if path not in self._known:
            facts = self._within_learned(path) or self._on_disk(path)
            if facts is None:
                return None
            self._known[path] = facts
        return self._known[path]

    def learn(self, path: Path, facts: Facts) -> None:
        """Take over what is known of an output, from its entry in ``dvc.lock`` or the run-cache."""
        kept = {
            one: known
            for one, known in self._known.items()
            if one not in path.parents and path not in one.parents
        }
        self._known = kept | {path: {k: v for k, v in facts.items() if k != "path"}}

    def parameters(self, name: str, keys: list[str]) -> dict[str, Any]:
        """Values of parameters, by the paths of their keys; all of the file without any.

        Raises:
            UserError: the file has no such parameter.
        """
        if name not in self._documents:
            self._documents[name] = read_as_dvc(self._root / name)
        document = self._documents[name]
        # Copies: YAML would write the second mention of one object as a reference.
        if not keys:
            return deepcopy(dict(document))
        return {key: deepcopy(_value(document, key, name)) for key in sorted(keys)}

    def _within_learned(self, path: Path) -> Facts | None:
        """The facts of what lies in an output that may not be there yet, from its list of files."""
        for above in path.parents:
            if str(self._known.get(above, {}).get("md5", "")).endswith(".dir"):
                return self._in_list(path.relative_to(above).as_posix(), self._known[above]["md5"])
        return None

    def _in_list(self, name: str, digest: str) -> Facts | None:
        members = members_of(self._cache, digest)
        if name in members:
            size = object_path(self._cache, members[name]).stat().st_size
            return {"hash": "md5", "md5": members[name], "size": size}
        inside = {
            n.removeprefix(f"{name}/"): one
            for n, one in members.items()
            if n.startswith(f"{name}/")
        }
        sizes = (object_path(self._cache, one).stat().st_size for one in inside.values())
        return _folder(inside, sum(sizes)) if inside else None

    def _on_disk(self, path: Path) -> Facts | None:
        with reading(str(path)):
            if path.is_dir():
                files = {file.relative_to(path).as_posix(): file for file in self._files(path)}
                found = {name: _md5(file) for name, file in files.items()}
                return _folder(found, sum(file.stat().st_size for file in files.values()))
            if not path.exists():
                return None
            facts = {"hash": "md5", "md5": _md5(path), "size": path.stat().st_size}
            return facts | ({"isexec": True} if path.stat().st_mode & 0o100 else {})

    def _files(self, folder: Path) -> Iterator[Path]:
        for found, folders, names in os.walk(folder):
            here = Path(found)
            folders[:] = [name for name in folders if not self._is_ignored(here / name, "/")]
            yield from (here / name for name in names if not self._is_ignored(here / name))

    def _is_ignored(self, path: Path, end: str = "") -> bool:
        if not path.is_relative_to(self._root):
            return False
        return self._ignored.match_file(path.relative_to(self._root).as_posix() + end)


def _folder(files: dict[str, str], size: int) -> Facts:
    listed = [{"md5": files[name], "relpath": name} for name in sorted(files)]
    digest = hashlib.md5(json.dumps(listed, sort_keys=True).encode(), usedforsecurity=False)
    return {"hash": "md5", "md5": f"{digest.hexdigest()}.dir", "size": size, "nfiles": len(files)}


def _md5(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _value(document: Any, name: str, source: str) -> Any:
    value = document
    for key in name.split("."):
        if not isinstance(value, dict) or key not in value:
            raise UserError(f"{Path(source).name} has no parameter {name}, which dvc.yaml names")
        value = value[key]
    return value
