"""DVC's notes of hashes and links, kept where nobody else can write.

DVC keeps them in ``/var/tmp/dvc``, where everybody may write, and unpickles them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from asterism.core.files.own_folders import own_folder
from asterism.core.settings import machine
from asterism.dvc_hydra.errors import errors_of_dvc

#: DVC's own variable for the folder of its notes.
VARIABLE = "DVC_SITE_CACHE_DIR"


@contextmanager
def private_notes(root: Path) -> Iterator[None]:
    """Let DVC, in this process and in those that it starts, use a folder of this user's alone.

    Args:
        root: a workspace. What its settings say, or the variable, is the user's own choice.

    Raises:
        UserError: the folder is open to others, see
            :func:`~asterism.core.files.own_folders.require_own`.
    """
    if VARIABLE in os.environ or _is_chosen(root):
        yield
        return
    os.environ[VARIABLE] = str(own_folder(machine.programs_root() / "dvc"))
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)


def _is_chosen(root: Path) -> bool:
    from dvc.config import Config

    with errors_of_dvc(".dvc/config"):
        return bool(Config(str(root / ".dvc"))["core"].get("site_cache_dir"))
