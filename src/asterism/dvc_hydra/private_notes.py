"""DVC's notes of hashes and links, kept where nobody else can write.

DVC keeps them in ``/var/tmp/dvc``, where everybody may write, and unpickles them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.errors import errors_of_dvc

#: DVC's own variable for the folder of its notes.
VARIABLE = "DVC_SITE_CACHE_DIR"

#: On a disk of this machine, as DVC has it: its databases need locks that file servers may lack.
_PLACE = Path("/var/tmp")  # noqa: S108 (a folder of the user's own is made there)


@contextmanager
def private_notes(root: Path) -> Iterator[None]:
    """Let DVC, in this process and in those that it starts, use a folder of this user's alone.

    Args:
        root: a workspace. What its settings say, or the variable, is the user's own choice.

    Raises:
        UserError: the folder is open to others.
    """
    if VARIABLE in os.environ or _is_chosen(root):
        yield
        return
    os.environ[VARIABLE] = str(_own_folder(_PLACE / f"asterism-{os.geteuid()}"))
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)


def _is_chosen(root: Path) -> bool:
    from dvc.config import Config

    with errors_of_dvc(".dvc/config"):
        return bool(Config(str(root / ".dvc"))["core"].get("site_cache_dir"))


def _own_folder(folder: Path) -> Path:
    remedy = f"remove it, or name a folder of yours by the variable {VARIABLE}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise UserError(f"{folder} cannot be made ({error.strerror}): {remedy}") from None
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not is_own or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UserError(
            f"{folder} is open to other users, and DVC would run what they write: {remedy}"
        )
    return folder
