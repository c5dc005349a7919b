"""Hashes of files and folders as DVC writes them into ``dvc.lock``, computed from the files.

A file's hash is its MD5. A folder's is that of the list of its files, a JSON text which lies in
DVC's cache under this hash too, with ``.dir`` behind it. What ``.dvcignore`` names is left out.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec

from asterism.core.files.hashes import compute_md5
from asterism.core.messages.errors import UserError, reading
from asterism.dvc_hydra.cache_files import object_path
from asterism.dvc_hydra.cache_objects import members_of
from asterism.dvc_hydra.lockfile import read_as_dvc

#: Hash, size, and for a folder the number of its files, by the keys of ``dvc.lock``.
Facts = dict[str, Any]

#: What DVC leaves out besides.
_NEVER = (".hg/", ".git/", ".git", ".dvc/")


class WorkspaceHashes:
    """What a workspace's files hash to; each path is hashed once.

    Args:
        root: the workspace.
        cache: the folder of its cache.
    """

    def __init__(self, root: Path, cache: Path) -> None:
        self._root, self._cache = root, cache
        self._known: dict[Path, Facts] = {}
        self._learned: set[Path] = set()
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
            facts = self._within_learned(path) or self._look(path)
            if facts is None:
                return None
            self._known[path] = facts
        return self._known[path]

    def learn(self, path: Path, facts: Facts) -> None:
        """Take over what is known of an output, from its entry in ``dvc.lock`` or the run-cache.

        The output need not be in the workspace yet, as long as the cache has it.
        """
        changed = {p for p in self._known if p == path or _lies_in(path, p) or _lies_in(p, path)}
        for one in changed:
            del self._known[one]
        self._known[path] = {key: value for key, value in facts.items() if key != "path"}
        self._learned = self._learned - changed | {path}

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
        """The facts of what lies in an output that was learned, from its list of files."""
        for above in self._learned.intersection(path.parents):
            name = path.relative_to(above).as_posix()
            members = self._members(above)
            if name in members:
                return {"hash": "md5", "md5": members[name], "size": self._size(members[name])}
            inside = {n: one for n, one in members.items() if n.startswith(f"{name}/")}
            if inside:
                return self._folder({n.removeprefix(f"{name}/"): d for n, d in inside.items()}, {})
        return None

    def _look(self, path: Path) -> Facts | None:
        """The facts of what is in the workspace, or will be there in outputs that were learned."""
        learned = {out for out in self._learned if _lies_in(out, path)}
        with reading(str(path)):
            if path.is_dir() or learned:
                found = self._files(path) if path.is_dir() else ()
                files = [file for file in found if learned.isdisjoint(file.parents)]
                sizes = {_name(file, path): file.stat().st_size for file in files}
                hashes = {
                    _name(file, path): compute_md5(file) for file in files if file not in learned
                }
                for out in learned:
                    hashes |= {_name(out / name, path): d for name, d in self._members(out).items()}
                return self._folder(hashes, sizes)
            if not path.exists():
                return None
            facts = {"hash": "md5", "md5": compute_md5(path), "size": path.stat().st_size}
            return facts | ({"isexec": True} if path.stat().st_mode & 0o100 else {})

    def _members(self, out: Path) -> dict[str, str]:
        """Hash of each file of an output that was learned; a file's own is under ``.``."""
        digest = str(self._known[out]["md5"])
        return members_of(self._cache, digest) if digest.endswith(".dir") else {".": digest}

    def _size(self, digest: str) -> int:
        return object_path(self._cache, digest).stat().st_size

    def _folder(self, files: Mapping[str, str], sizes: Mapping[str, int]) -> Facts:
        """The facts of a folder.

        Args:
            files: hash of each file.
            sizes: of those that are not in the cache.
        """
        listed = [{"md5": files[name], "relpath": name} for name in sorted(files)]
        text = json.dumps(listed, sort_keys=True).encode()
        return {
            "hash": "md5",
            "md5": f"{hashlib.md5(text, usedforsecurity=False).hexdigest()}.dir",
            "size": sum(sizes[n] if n in sizes else self._size(d) for n, d in files.items()),
            "nfiles": len(files),
        }

    def _files(self, folder: Path) -> Iterator[Path]:
        for found, folders, names in os.walk(folder):
            here = Path(found)
            folders[:] = [name for name in folders if not self._is_ignored(here / name, "/")]
            yield from (here / name for name in names if not self._is_ignored(here / name))

    def _is_ignored(self, path: Path, end: str = "") -> bool:
        if not path.is_relative_to(self._root):
            return False
        return self._ignored.match_file(path.relative_to(self._root).as_posix() + end)


def _lies_in(path: Path, folder: Path) -> bool:
    return str(path).startswith(f"{folder}{os.sep}")  # many times as fast as by its parents


def _name(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix()


def _value(document: Any, name: str, source: str) -> Any:
    value = document
    for key in name.split("."):
        if not isinstance(value, dict) or key not in value:
            raise UserError(f"{Path(source).name} has no parameter {name}, which dvc.yaml names")
        value = value[key]
    return value
