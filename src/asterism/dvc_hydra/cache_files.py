"""Files of DVC's caches and remotes: which may be there, and what they may be called and hold.

Links are rejected, and what dead processes have left is removed. DVC writes every file that an
entry of the run-cache or a list of a folder's files names, wherever it lies, and makes a path of a
file's hash. The rules here describe what DVC itself writes for this pipeline;
:mod:`asterism.dvc_hydra.run_cache` and :mod:`asterism.dvc_hydra.remote` apply them to the files,
before DVC reads one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from reprlib import Repr
from typing import Any

import yaml

from asterism.core.messages.errors import UserError
from asterism.core.messages.escaping import printable
from asterism.core.messages.terminal import say
from asterism.core.resuming.state import server_time
from asterism.core.settings.yaml_files import AliasError, require_plain_yaml

#: Under such a name DVC writes what it then renames. It removes none after a crash, and after a
#: full disk not all.
_TEMPORARY = re.compile(r"\.[\w-]{22}\.tmp")

_DIGEST = re.compile(r"[0-9a-f]{32}(\.dir)?")

#: Seconds after its last write from which a temporary file counts as left.
_LEFT = 3600.0


def require_plain(folder: Path) -> None:
    """Reject a cache that holds more than files and folders, before anything in it is opened.

    Through a link DVC and :mod:`asterism.dvc_hydra.run_cache` would read, write and remove files
    elsewhere, and a pipe would be waited for. The cache itself may be a link: who set it up has
    chosen where it leads. Temporary files that nobody has written to for an hour are removed.

    Args:
        folder: of the cache.

    Raises:
        UserError: it names the first that is neither.
    """
    for item in _found_below(folder):
        if not item.is_file(follow_symlinks=False):
            kind = "a link" if item.is_symlink() else "no plain file"
            raise UserError(
                f"the cache is not used: {os.path.relpath(item.path)!r} is {kind}, and "
                "DVC's caches hold files and folders only; remove it (for a cache that "
                "lies elsewhere, name its folder by `dvc cache dir`)"
            )
    remove_stale_files(folder)


@cache
def warn_once(line: str) -> None:
    """Write each warning once: the same file is read several times."""
    say(f"warning: {line}", error=True)


def is_digest(text: str) -> bool:
    """Whether a text is the MD5 of a file, or with ``.dir`` that of the list of a folder's."""
    return _DIGEST.fullmatch(text) is not None


def object_path(folder: Path, digest: str) -> Path:
    """Where a cache has, or would have, what has this hash."""
    return folder / "files/md5" / digest[:2] / digest[2:]


def remove_stale_files(folder: Path) -> None:
    """Remove temporary files that nobody has written to for an hour, as far as that is allowed.

    Args:
        folder: of a cache, or of a remote that is a folder.
    """
    named = [i for i in _found_below(folder) if _TEMPORARY.fullmatch(i.name)]
    temporary = [Path(item.path) for item in named if item.is_file(follow_symlinks=False)]
    if not temporary:
        return
    with suppress(OSError):  # no room, or not ours to write into: the next command may
        now = server_time(folder)
        for file in temporary:
            with suppress(FileNotFoundError):
                if now - file.stat().st_mtime > _LEFT:
                    file.unlink()


def _found_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything but folders, at any depth."""
    folders = [folder]
    while folders:
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as found:
            for item in found:
                if item.is_dir(follow_symlinks=False):
                    folders.append(Path(item.path))
                else:
                    yield item


#: The folders that stages write to. Outputs lie nowhere else.
RESULTS = ("artifacts", "metrics", "plots", "report")

#: An entry's place below the folder of the run-cache: key and value, after two digits of the key.
ENTRY = re.compile(r"(?P<start>[0-9a-f]{2})/(?P<key>(?P=start)[0-9a-f]{62})/[0-9a-f]{64}")

#: Bytes of the largest entry that is read. One of the pipeline's has 1 to 10 kB.
LARGEST_ENTRY = 1_000_000

#: Levels of lists and groups in an entry; one of the pipeline's has six.
DEEPEST = 50

_FILE = re.compile(r"[0-9a-f]{32}")

#: No files' names, and those by which git and DVC take a folder for a repository, whose settings
#: may name programs.
_SETTINGS = {"", ".", "..", ".git", ".dvc", ".dvcignore"}

#: Parts of a path, and bytes of one of them and of all, beyond which DVC or the system fails.
_MOST_PARTS, _LONGEST_PART, _LONGEST_PATH = 100, 255, 4000

#: What a message quotes of a value of any size and depth.
_quoted = Repr()
_quoted.maxstring = _quoted.maxother = 200

#: Git takes a folder with this file for a repository too.
_BARE = "head"

#: Keys that DVC writes for an output. It accepts more, which place files elsewhere.
_OUTPUT = {"path", "hash", "md5", "size", "nfiles", "isexec"}


def fault_in_text(content: bytes) -> str | None:
    """Why a file cannot be an entry that DVC has written; None if it can.

    With YAML aliases a few lines stand for a value of any size; DVC writes none.
    """
    if len(content) > LARGEST_ENTRY:
        return f"it has {len(content)} bytes, and an entry at most {LARGEST_ENTRY}"
    try:
        # YAML has other encodings, and DVC does not.
        require_plain_yaml(content.decode("utf-8"), DEEPEST)
    except AliasError:
        return "it has YAML aliases, which DVC does not write"
    except RecursionError:
        return f"it is nested more than {DEEPEST} deep"
    except (yaml.YAMLError, UnicodeError):
        return "it is not YAML"
    return None


def fault_in_output(output: Mapping[str, Any]) -> str | None:
    """Why an output of an entry of the run-cache cannot be used; None if it can.

    Args:
        output: as DVC's parser reads it.
    """
    path, digest = output["path"], output.get("md5")
    if not is_result(path):
        return f"it writes {path!r}, but stages write only below {', '.join(RESULTS)}"
    if unknown := sorted(output.keys() - _OUTPUT):
        return f"its output {path!r} has {', '.join(unknown)}, which no output of a stage has"
    if output.get("hash") != "md5" or not isinstance(digest, str) or not is_digest(digest):
        return f"its output {path!r} has no hash, but {digest!r}"
    return None


def is_result(path: str) -> bool:
    """Whether a path from a project's root names something that a stage may write."""
    parts = path.split("/")
    return len(parts) > 1 and parts[0] in RESULTS and is_plain_path(path)


def is_plain_path(path: str) -> bool:
    """Whether every system can have a file of that path, and each of its parts is plain.

    Such a path leads neither out of the folder that it begins in nor to a tool's settings.
    """
    if len(path) > _LONGEST_PATH or printable(path) != path:
        return False
    parts = path.split("/")
    longest = max(len(part.encode()) for part in parts)
    fits = len(parts) <= _MOST_PARTS and longest <= _LONGEST_PART
    short = len(path.encode()) <= _LONGEST_PATH
    return fits and short and _SETTINGS.isdisjoint(map(str.casefold, parts))


def fault_in_list(listed: Any) -> str | None:
    """Why a list of a folder's files cannot be used; None if it can.

    Args:
        listed: as JSON gives it: of each file its path in the folder and its hash.
    """
    if not isinstance(listed, list):
        return "it is no list of files"
    for item in listed:
        if not isinstance(item, Mapping):
            return "it is no list of files"
        path, digest = item.get("relpath"), item.get("md5")
        if not isinstance(path, str) or not is_plain_path(path):
            return f"it names {_quoted.repr(path)}, which is no file of the folder"
        if path.split("/")[-1].casefold() == _BARE:
            return f"it names {_quoted.repr(path)}, by which git takes a folder for a repository"
        if not isinstance(digest, str) or not _FILE.fullmatch(digest):
            return f"its file {_quoted.repr(path)} has no hash, but {_quoted.repr(digest)}"
    return None
