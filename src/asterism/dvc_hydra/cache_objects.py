"""Objects of DVC's cache that are taken as results: each has the hash that is its name.

DVC takes a file that nobody may write to for one that it has hashed, and whoever shares the cache
can make such files. Here each is hashed once, and remembered by what the file system says of it.

They are put into the workspace as ``dvc checkout`` does, which reads ``dvc.lock`` anew for each
stage that it is given, ten seconds long for 34.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_json, write_json
from asterism.core.files.limits import parse_json, read_within_limit
from asterism.core.files.os_errors import describe_os_error
from asterism.core.messages.errors import UserError, reading
from asterism.core.messages.escaping import list_first
from asterism.core.settings.machine import find_project_root
from asterism.dvc_hydra.cache_files import fault_in_list, is_digest, object_path

#: Nanoseconds in which two changes may get the same time, on the coarsest file systems.
_TICK = 2_000_000_000

#: Most objects that a message names.
_MOST_NAMED = 20

#: MD5 of a file that is to be empty.
_EMPTY = hashlib.md5(b"", usedforsecurity=False).hexdigest()

#: Linux' request for a file that shares the blocks of another, until one of them changes.
_FICLONE = 0x40049409


@cache
def objects_of(root: Path, folder: Path) -> CacheObjects:
    """The objects of a workspace's cache, which this process and others of the project hash once.

    Args:
        root: the workspace.
        folder: of its cache.
    """
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    return CacheObjects(folder, find_project_root(root) / f".dvc/tmp/asterism/objects/{name}.json")


def members_of(cache: Path, digest: str) -> dict[str, str]:
    """Hash of each file in a folder's list; none of a list that is not there or no rule allows.

    Args:
        cache: its folder.
        digest: of the list, with ``.dir``.
    """
    path = object_path(cache, digest)
    if not digest.endswith(".dir") or not path.is_file():
        return {}
    with suppress(UserError), reading(str(path)):
        listed = parse_json(read_within_limit(path, "limits.text_mb"), str(path))
        if fault_in_list(listed) is None:
            return {item["relpath"]: item["md5"] for item in listed}
    return {}


class CacheObjects:
    """The objects of a cache; see :func:`objects_of`.

    Args:
        folder: of the cache.
        memory: a file for what has been hashed; whoever writes to the cache cannot write to it.
    """

    def __init__(self, folder: Path, memory: Path) -> None:
        self._folder, self._memory = folder, memory
        self._known = _remembered(memory)
        self._new: dict[str, str] = {}

    def require(self, digests: Iterable[str]) -> None:
        """Reject objects that are not what their names say, with those that a list of files names.

        Args:
            digests: MD5 as ``dvc.lock`` has it, with ``.dir`` for the list of a folder's files.
                What is not in the cache is no fault: DVC says so where it needs it.

        Raises:
            UserError: it names the objects.
        """
        try:
            faulty = dict.fromkeys(one for digest in digests for one in self._faulty(digest))
        finally:
            self._save()
        if faulty:
            raise _rejection([object_path(self._folder, one) for one in faulty])

    def require_all(self) -> None:
        """Reject objects of the whole cache that are not what their names say."""
        found = [path.parent.name + path.name for path in self._folder.glob("files/md5/??/*")]
        self.require(name for name in found if is_digest(name))

    def require_copies(self, outputs: Mapping[Path, str]) -> None:
        """Reject what was checked out of objects that have changed since they were hashed.

        Links into the cache change what the file system says of an object, so that its copy is
        hashed instead. A copy that is rejected is removed: DVC would take it for the result.

        Args:
            outputs: hash of each file and folder that was checked out.

        Raises:
            UserError: it names the output, or the objects.
        """
        for path, digest in outputs.items():
            objects = (digest, *members_of(self._folder, digest).values())
            if all(map(self._is_known, objects)) or self._is_copied(path, digest):
                continue
            remove_output(path)
            raise UserError(
                f"{os.path.relpath(path)} is removed, since its object in the cache was replaced "
                "while it was being taken: run the same command again"
            )
        self.require(outputs.values())

    def remove_cut_short(self, outputs: Mapping[Path, str]) -> None:
        """Remove empty files that a checkout has left which was ended before it filled them.

        DVC takes them for the user's own, and checks out nothing in their place.

        Args:
            outputs: hash of each file and folder that is to be checked out.
        """
        for path, digest in outputs.items():
            members = self._files(digest).items()
            for file in (path / name for name, one in members if one != _EMPTY):
                if file.is_file() and not file.is_symlink() and not file.stat().st_size:
                    file.unlink()

    def _faulty(self, digest: str) -> list[str]:
        if not is_digest(digest):
            raise UserError(f"{digest!a} is no hash of an object in DVC's cache")
        if not self._is_whole(digest):
            return [digest]
        return [one for one in members_of(self._folder, digest).values() if not self._is_whole(one)]

    def _is_whole(self, digest: str) -> bool:
        """Whether an object has its hash, or is not there."""
        if self._is_known(digest):
            return True
        begun, path = time.time_ns(), object_path(self._folder, digest)
        with reading(f"the cache's {path}"):
            try:
                content, status = _hash(path)
            except FileNotFoundError:
                return True
        if content != digest.removesuffix(".dir"):
            return False
        self._known[digest] = _fingerprint(status)
        if status.st_ctime_ns < begun - _TICK:
            self._new[digest] = _fingerprint(status)
        return True

    def _is_known(self, digest: str) -> bool:
        """Whether an object has been hashed, and has not changed since."""
        try:
            status = object_path(self._folder, digest).lstat()
        except FileNotFoundError:
            return False
        return self._known.get(digest) == _fingerprint(status)

    def _is_copied(self, path: Path, digest: str) -> bool:
        """Whether a file or a folder in the workspace has the content that a hash stands for."""
        found = [p for p in path.rglob("*") if not p.is_dir()] if path.is_dir() else [path]
        has = {p.relative_to(path).as_posix(): _hash(Path(os.path.realpath(p)))[0] for p in found}
        return has == self._files(digest)

    def _files(self, digest: str) -> dict[str, str]:
        """Hash of each file of an output, by its path in the output; a file's own is ``.``."""
        return members_of(self._folder, digest) if digest.endswith(".dir") else {".": digest}

    def _save(self) -> None:
        """Keep what has been hashed; another process that does so meanwhile hashes again."""
        if self._new:
            with suppress(UserError, OSError):  # no room: the next command hashes again
                write_json(self._memory, _remembered(self._memory) | self._new)
            self._new = {}


def _rejection(objects: Sequence[Path]) -> UserError:
    named = list_first([repr(os.path.relpath(path)) for path in objects], _MOST_NAMED)
    return UserError(
        f"the cache is not used: {named} has other content than its name says; remove "
        "it, then `asterism repro` computes or `asterism pull` fetches it again"
    )


def _hash(path: Path) -> tuple[str, os.stat_result]:
    """MD5 of a file, and what the file system said of it before; of anything else an empty text.

    Raises:
        OSError: it is not there, or cannot be read.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # which waits for no pipe's other end
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        return "", status
    with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
        status = os.fstat(file.fileno())
        is_plain = stat.S_ISREG(status.st_mode)
        return hashlib.file_digest(file, "md5").hexdigest() if is_plain else "", status


def _fingerprint(status: os.stat_result) -> str:
    """Facts that change whenever a file does. Its writers can set all of them but the last time."""
    facts = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return " ".join(map(str, facts))


def _remembered(memory: Path) -> dict[str, str]:
    """What earlier commands have hashed; nothing where the file cannot be read."""
    with suppress(UserError):
        known = read_json(memory)
        if isinstance(known, dict):
            return known
    return {}


def remove_output(path: Path) -> None:
    """Remove a file, a link or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def place_output(cache: Path, kinds: Sequence[str], output: Path, facts: dict[str, Any]) -> None:
    """Put an output into the workspace, where nothing is at its path.

    Args:
        cache: its folder. It has the objects, and each is what its name says.
        kinds: how files are taken from it, the best first: ``reflink``, ``hardlink``, ``symlink``
            or ``copy``.
        output: the path, absolute.
        facts: of ``dvc.lock``: its hash, and whether it can be executed.

    Raises:
        UserError: the system does not allow any of it.
    """
    digest = str(facts["md5"])
    if digest.endswith(".dir"):
        output.mkdir(parents=True)
        members = {output / name: one for name, one in members_of(cache, digest).items()}
    else:
        members = {output: digest}
    for target, one in members.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        _take(object_path(cache, one), target, kinds)
    if facts.get("isexec"):
        output.chmod(output.stat().st_mode | 0o111)


def _take(source: Path, target: Path, kinds: Sequence[str]) -> None:
    told = ""
    for kind in kinds:
        try:
            _KINDS[kind](source, target)
            return
        except OSError as error:
            told = describe_os_error(error) or f"cannot put {target} into the workspace: {error}"
            target.unlink(missing_ok=True)
    raise UserError(told)


def _reflink(source: Path, target: Path) -> None:
    with source.open("rb") as there, target.open("wb") as here:
        fcntl.ioctl(here.fileno(), _FICLONE, there.fileno())


_KINDS: dict[str, Callable[[Path, Path], object]] = {
    "reflink": _reflink,
    "hardlink": os.link,
    "symlink": os.symlink,
    "copy": shutil.copyfile,
}
