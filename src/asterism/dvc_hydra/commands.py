"""DVC's commands, called in this process: to start Python and to load DVC takes a second each."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stdout
from pathlib import Path

from asterism.core.files.locks import held
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.left_locks import LOCK
from asterism.dvc_hydra.private_notes import private_notes


def dvc(root: Path, *words: str, afresh: bool = False) -> int:
    """Run a command of DVC's, which writes to the terminal; its exit status.

    Args:
        root: the workspace.
        words: ``"push", "--run-cache"``.
        afresh: whether DVC forgets what it has noted of earlier commands, see
            :func:`~asterism.dvc_hydra.private_notes.private_notes`.
    """
    from dvc.cli import main

    with held(root / LOCK):  # DVC itself waits for three seconds only
        pass
    with private_notes(root, afresh), chdir(root):
        return int(main(list(words)))


def dvc_quietly(root: Path, *words: str) -> None:
    """The same, of a command that is a step of another; nothing is written to the terminal.

    Raises:
        UserError: it failed; with what DVC says.
    """
    with _errors_of_dvc() as said, redirect_stdout(io.StringIO()):
        status = dvc(root, *words)
    if status:
        raise UserError("; ".join(said) or f"`dvc {words[0]}` ended with status {status}")


@contextmanager
def _errors_of_dvc() -> Iterator[list[str]]:
    """The errors that DVC logs in the block, in the place of its own handlers."""
    logger, said = logging.getLogger("dvc"), _Errors()
    own, logger.handlers[:] = logger.handlers[:], [said]
    try:
        yield said.lines
    finally:
        logger.handlers[:] = own


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message with what has caused it."""
        told = [record.getMessage()] if record.msg else []
        error = record.exc_info[1] if record.exc_info else None
        while error is not None:
            told.append(str(error))
            error = error.__cause__
        self.lines.append(" - ".join(" ".join(one.split()) for one in told if one))


def check_out(root: Path, names: Sequence[str]) -> None:
    """Put data under ``dvc add`` from the cache into the workspace.

    Raises:
        UserError: DVC could not; with what it says.
    """
    if names:
        dvc_quietly(root, "checkout", "--", *names)
