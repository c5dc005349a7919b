"""DVC's commands, called in this process: to start Python and to load DVC takes a second each.

DVC keeps notes of hashes and links in ``/var/tmp/dvc``, where everybody may write, and unpickles
them. Here they are kept where nobody else can write.
"""

from __future__ import annotations

import io
import json
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout, suppress
from pathlib import Path

from asterism.core.files.folders import make_private_folder
from asterism.core.files.limits import read_within_limit
from asterism.core.files.locks import hold_lock
from asterism.core.files.os_errors import describe_os_error
from asterism.core.files.plain_files import require_no_link, require_plain_file
from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.dvc_hydra.local_settings import dvc_settings

#: DVC's own variable for the folder of its notes.
VARIABLE = "DVC_SITE_CACHE_DIR"

#: Where DVC keeps its locks and the workspaces of its experiments.
TEMPORARY = Path(".dvc/tmp")

#: What DVC's commands hold while they work on a workspace.
LOCK = TEMPORARY / "lock"

#: Files that DVC opens in a way that fails, waits or writes elsewhere where they are no files.
_FILES = ("lock", "rwlock", "rwlock.lock", "btime")


def require_usable(project: Path) -> None:
    """Reject a workspace where something else lies in the place of DVC's locks.

    Raises:
        UserError: it names it.
    """
    require_no_link(project, project / TEMPORARY)
    for name in _FILES:
        require_plain_file(project / TEMPORARY / name)
    held = project / TEMPORARY / "rwlock"
    with suppress(ValueError, FileNotFoundError):  # DVC is writing it, or says what is wrong
        try:
            json.loads(read_within_limit(held, "limits.text_mb"))
        except RecursionError:
            raise UserError(
                f"{held} is nested too deeply: delete it while no DVC command runs"
            ) from None


def run_dvc(root: Path, *words: str, afresh: bool = False) -> int:
    """Run a command of DVC's, which writes to the terminal; its exit status.

    Args:
        root: the workspace.
        words: ``"push", "--run-cache"``.
        afresh: whether DVC forgets what it has noted of earlier commands, see
            :func:`~asterism.dvc_hydra.commands.private_site_cache`.
    """
    from dvc.cli import main

    with hold_lock(root / LOCK):  # DVC itself waits for three seconds only
        pass
    with private_site_cache(root, afresh), chdir(root):
        return int(main(list(words)))


def run_dvc_quietly(root: Path, *words: str) -> None:
    """Run a DVC command silently; it is a step of a command of this project's.

    Raises:
        UserError: it failed; with what DVC says.
    """
    with _errors_of_dvc() as said, redirect_stdout(io.StringIO()):
        status = run_dvc(root, *words)
    if status:
        raise UserError("; ".join(said) or f"`dvc {words[0]}` ended with status {status}")


@contextmanager
def _errors_of_dvc() -> Iterator[list[str]]:
    """The errors that DVC logs in the block, in the place of its own handlers."""
    logger, said = logging.getLogger("dvc"), _Errors()
    own, logger.handlers[:] = logger.handlers[:], [said]
    propagated, logger.propagate = logger.propagate, False  # else handlers of all loggers print it
    try:
        yield said.lines
    finally:
        logger.handlers[:], logger.propagate = own, propagated


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message with what has caused it."""
        told = [record.getMessage()] if record.msg else []
        error = record.exc_info[1] if record.exc_info else None
        while error is not None:
            if isinstance(error, OSError) and (place := describe_os_error(error)):
                told = [place]
                break
            told.append(str(error))
            error = error.__cause__
        self.lines.append(" - ".join(" ".join(one.split()) for one in told if one))


@contextmanager
def report_dvc_errors(source: str = "") -> Iterator[None]:
    """Raise what DVC rejects in the block as one line.

    Args:
        source: what stands before DVC's message, such as a file's name.

    Raises:
        UserError: DVC raised any of its exceptions.
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("dvc"):
            raise
        told = " ".join(str(error).split())
        raise UserError(f"{source}: {told}" if source else told) from None


@contextmanager
def private_site_cache(root: Path, afresh: bool = False) -> Iterator[None]:
    """Let DVC, in this process and in those that it starts, use a folder of this user's alone.

    Args:
        root: a workspace. What its settings say, or the variable, is the user's own choice.
        afresh: whether DVC finds no notes in the block, whoever has chosen their folder. It notes
            what there is to send and to fetch in several steps. A command that is killed in between
            leaves a part of the list, which the next takes for all of it: files are left out, and
            a push ends as if it had sent everything.

    Raises:
        UserError: the folder is open to others, see
            :func:`~asterism.core.files.folders.require_private`.
    """
    if afresh:
        with tempfile.TemporaryDirectory() as folder, _set(folder):
            yield
    elif VARIABLE in os.environ or dvc_settings(root).has_option("core", "site_cache_dir"):
        yield
    else:
        with _set(str(make_private_folder(machine.programs_root() / "dvc"))):
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


def experiment_reference(baseline: str, name: str) -> str:
    """The git reference of an experiment.

    Args:
        baseline: the commit that it started from, in full.
        name: its name.
    """
    return f"refs/exps/{baseline[:2]}/{baseline[2:]}/{name}"
