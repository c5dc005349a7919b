"""What a terminal shows of a run: a line for each stage, and messages above.

Each stage's process leaves how far it is in a file, and its messages in another. So no two
processes write to the terminal at a time.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TextIO

from asterism.budget import label_of
from asterism.core.messages.console import Progress, read_progress, report_progress_to
from asterism.core.messages.escaping import printable, printable_lines
from asterism.core.messages.terminal import raw_terminal

#: Seconds between two drawings.
INTERVAL = 0.5

#: Characters of a stage's name and of its bar.
_NAME, _BAR = 26, 16

#: Moves the cursor up by so many lines, to the first column, and clears all below.
_UP, _CLEAR = "\x1b[{}F", "\x1b[J"


class LiveLines:
    """A line for each running stage, drawn anew in its place.

    Args:
        stream: a terminal.
        total: how many stages are to run in all.
        log: gets what stages say as well; None where the terminal alone does.
    """

    def __init__(self, stream: TextIO, total: int, log: TextIO | None = None) -> None:
        self._stream, self._total, self._log = stream, total, log
        self._begun: dict[str, float] = {}
        self._read: dict[str, int] = {}
        self._drawn = 0

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="asterism-live-"))
        return self

    def __exit__(self, *_: object) -> None:
        self._replace(self._messages(), [])
        shutil.rmtree(self.folder, ignore_errors=True)

    def draw(self, running: Sequence[str], done: int) -> None:
        """Show the stages that run now.

        Args:
            running: their names.
            done: how many have ended.
        """
        now = time.monotonic()
        for stage in running:
            self._begun.setdefault(stage, now)
        width = shutil.get_terminal_size().columns - 1
        lines = [
            format_line(stage, read_progress(self.folder / stage), now - self._begun[stage])
            for stage in running
        ]
        waiting = self._total - done - len(running)
        lines.append(f"{done} of {self._total} stages done, {waiting} waiting")
        self._replace(self._messages(), [printable(line)[:width] for line in lines])

    def _messages(self) -> str:
        """What stages have said since the last time."""
        said = ""
        for stage in self._begun:
            file = messages_file(self.folder, stage)
            if file.exists():
                with file.open("rb") as stream:
                    stream.seek(self._read.get(stage, 0))
                    new = stream.read()
                self._read[stage] = self._read.get(stage, 0) + len(new)
                said += new.decode("utf-8", errors="replace")
        return printable_lines(said)

    def _replace(self, said: str, lines: Sequence[str]) -> None:
        """Put messages in the place of the lines, and the new lines below them."""
        up = _UP.format(self._drawn) if self._drawn else ""
        ended = said if not said or said.endswith("\n") else f"{said}\n"
        if self._log is not None and ended:
            self._log.write(ended)
            self._log.flush()
        block = "".join(f"{line}\n" for line in lines)
        self._stream.write(f"{up}{_CLEAR}{ended}{block}")
        self._stream.flush()
        self._drawn = len(lines)


def format_line(stage: str, share: Progress | None, seconds: float) -> str:
    """A stage's line: what it is at, the share done, the time left, and its log.

    Args:
        stage: its name.
        share: how far it is; None where it has not said.
        seconds: since it began.
    """
    log = f"logs/{label_of(stage)}.jsonl"
    if share is None or not share.total:
        return f"{stage:{_NAME}} {'':{_BAR}}       {clock_text(seconds):>7} so far   {log}"
    part = min(1.0, share.done / share.total)
    bar = "█" * round(_BAR * part) + "░" * (_BAR - round(_BAR * part))
    left = clock_text(share.seconds * (1 - part) / part) if part else "?"
    return f"{stage:{_NAME}} {bar} {100 * part:>4.0f}%  {left:>7} left     {log}  {share.label}"


def clock_text(seconds: float) -> str:
    """65 seconds as ``1:05``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def live_lines(total: int, terminal: str = "") -> LiveLines | None:
    """Lines on standard error; None where that is no terminal.

    Args:
        total: how many stages are to run in all.
        terminal: the device of another process's terminal, where this one's output is a log.
    """
    if terminal:
        device = os.open(terminal, os.O_WRONLY | os.O_NOCTTY)
        log = sys.stdout  # noqa: TID251 - a log, whose messages have been escaped
        return LiveLines(os.fdopen(device, "w", encoding="utf-8"), total, log)
    return None if (stream := raw_terminal()) is None else LiveLines(stream, total)


def terminal_device() -> str:
    """The device of the terminal that standard error is, empty where it is none."""
    stream = raw_terminal()
    return "" if stream is None else os.ttyname(stream.fileno())


def messages_file(folder: Path, stage: str) -> Path:
    """The file of a stage's messages."""
    return folder / f"{stage}.screen"


@contextmanager
def divert_messages(folder: Path | None, stage: str) -> Iterator[None]:
    """Let the block, and processes that it starts, write progress and messages into files.

    Args:
        folder: see :class:`LiveLines`; None for no lines.
        stage: its name.
    """
    if folder is None:
        yield
        return
    before = [os.dup(1), os.dup(2)]
    try:
        with messages_file(folder, stage).open("ab") as file, report_progress_to(folder / stage):
            for descriptor in (1, 2):
                os.dup2(file.fileno(), descriptor)
            yield
    finally:
        for stream in (sys.stdout, sys.stderr):  # noqa: TID251 - nothing is printed
            stream.flush()
        for descriptor, saved in enumerate(before, 1):
            os.dup2(saved, descriptor)
            os.close(saved)
