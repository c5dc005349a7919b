"""DVC's notes of hashes and links, kept where nobody else can write.

DVC keeps them in ``/var/tmp/dvc``, where everybody may write, and unpickles them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from asterism.core.files.own_folders import own_folder
from asterism.core.settings import machine
from asterism.dvc_hydra.local_settings import settings

#: DVC's own variable for the folder of its notes.
VARIABLE = "DVC_SITE_CACHE_DIR"


@contextmanager
def private_notes(root: Path, afresh: bool = False) -> Iterator[None]:
    """Let DVC, in this process and in those that it starts, use a folder of this user's alone.

    Args:
        root: a workspace. What its settings say, or the variable, is the user's own choice.
        afresh: whether DVC finds no notes in the block, whoever has chosen their folder. It notes
            what there is to send and to fetch in several steps. A command that is killed in between
            leaves a part of the list, which the next takes for all of it: files are left out, and
            a push ends as if it had sent everything.

    Raises:
        UserError: the folder is open to others, see
            :func:`~asterism.core.files.own_folders.require_own`.
    """
    if afresh:
        with tempfile.TemporaryDirectory() as folder, _set(folder):
            yield
    elif VARIABLE in os.environ or settings(root).has_option("core", "site_cache_dir"):
        yield
    else:
        with _set(str(own_folder(machine.programs_root() / "dvc"))):
            yield


@contextmanager
def _set(folder: str) -> Iterator[None]:
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = folder
    try:
        yield
    finally:
        os.environ.pop(VARIABLE)
        if before is not None:
            os.environ[VARIABLE] = before
