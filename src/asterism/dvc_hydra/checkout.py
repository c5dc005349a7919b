"""Putting outputs from the cache into the workspace, as ``dvc checkout`` does.

DVC's command reads ``dvc.lock`` anew for each stage that it is given, ten seconds long for 34.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.cache_files import object_path
from asterism.dvc_hydra.cache_objects import members_of

#: Linux' request for a file that shares the blocks of another, until one of them changes.
_FICLONE = 0x40049409


def place(cache: Path, kinds: Sequence[str], output: Path, facts: dict[str, Any]) -> None:
    """Make an output, of which nothing is there.

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
    failure: OSError | None = None
    for kind in kinds:
        try:
            _KINDS[kind](source, target)
            return
        except OSError as error:
            failure = error
            target.unlink(missing_ok=True)
    raise UserError(f"cannot put {target} into the workspace: {failure}")


def _reflink(source: Path, target: Path) -> None:
    with source.open("rb") as there, target.open("wb") as here:
        fcntl.ioctl(here.fileno(), _FICLONE, there.fileno())


_KINDS: dict[str, Callable[[Path, Path], object]] = {
    "reflink": _reflink,
    "hardlink": os.link,
    "symlink": os.symlink,
    "copy": shutil.copyfile,
}
