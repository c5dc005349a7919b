"""The progress that a person sees while a stage runs, and the structured log that remains."""

from __future__ import annotations

import faulthandler
import io
import json
import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import structlog
from tqdm import tqdm

from asterism.core.messages.escaping import printable, printable_lines
from asterism.core.messages.terminal import EscapedStream

# Bars are of one process each. The default is a lock between processes, made when it is first
# taken: an interrupt at that moment is lost, and the lock stays taken for ever.
tqdm.set_lock(threading.RLock())

#: What adds to an event its level, its time, and the traceback of an error.
_FACTS: list[Any] = [
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso"),
    structlog.processors.format_exc_info,
]

#: What :func:`progress` gives.
Bar: TypeAlias = "tqdm[Any]"

#: Names the file in which a process leaves how far it is, for one that shows it.
_REPORT = "ASTERISM_PROGRESS_FILE"

#: Seconds between two reports.
_REPORT_SECONDS = 0.5


@dataclass(frozen=True)
class Progress:
    """How far a process is.

    Attributes:
        label: what it is at.
        done: items that are done.
        total: items in all; None where that is not known.
        seconds: since the first item.
    """

    label: str
    done: float
    total: float | None
    seconds: float


class _ReportedBar(tqdm):  # type: ignore[type-arg]  # no class of Python's to subscript
    """A bar that is no line on the screen, but a file for another process."""

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Leave the bar's state; without a file system that takes it, nothing."""
        path = os.environ.get(_REPORT)
        if path is None:
            return
        facts = self.format_dict
        share = [facts["prefix"], facts["n"], facts["total"], facts["elapsed"]]
        new = f"{path}.{os.getpid()}"
        with suppress(OSError):
            Path(new).write_text(json.dumps(share), encoding="utf-8")
            Path(new).replace(path)


@contextmanager
def report_progress_to(path: Path) -> Iterator[None]:
    """Bars of this process, and of those that it starts meanwhile, go into a file."""
    os.environ[_REPORT] = str(path)
    try:
        yield
    finally:
        del os.environ[_REPORT]


def read_progress(path: Path) -> Progress | None:
    """What a bar has left under :func:`report_progress_to`; None for nothing."""
    try:
        return Progress(*json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A structured logger: an event and its facts, ``log.info("trained", epochs=30)``."""
    return structlog.stdlib.get_logger(name)


def progress(
    items: Iterable[Any] | None = None, *, total: int | None = None, label: str, unit: str = "it"
) -> Bar:
    """A progress bar on standard error, silent when that is no terminal.

    Iterate over it, or call its ``update(n)`` and ``set_postfix(...)`` by hand.
    """
    if os.environ.get(_REPORT):
        return _ReportedBar(
            items,
            total=total,
            desc=printable(label),
            unit=unit,
            file=io.StringIO(),  # for the little that is no display
            mininterval=_REPORT_SECONDS,
        )
    return tqdm(
        items,
        total=total,
        desc=printable(label),
        unit=unit,
        unit_scale=True,
        disable=None,
        mininterval=0.2,
        leave=None,  # a bar inside another goes when it is full
    )


class _AboveTheBar:
    """Standard error, as it is at the time, printed to without tearing a progress bar apart."""

    def write(self, text: str) -> int:
        if text.strip():
            tqdm.write(text.rstrip("\n"), file=sys.stderr)
        return len(text)

    def flush(self) -> None:
        sys.stderr.flush()


class _LogFile(logging.StreamHandler[TextIO]):
    """A log without the lines for which the disk has no room: whoever writes results says so."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging calls it so
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


def divert_native_messages(log: int) -> None:
    """Send what native libraries print to a file; what goes through Python stays here.

    TensorFlow prints about graphics cards before any setting of its can keep it from that. Where
    the interpreter crashes, the place is shown here.

    Args:
        log: descriptor of the file, which is closed.
    """
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        screen = os.fdopen(os.dup(descriptor), "w", buffering=1, encoding="utf-8")
        setattr(sys, name, EscapedStream(screen))
        os.dup2(log, descriptor)
    os.close(log)
    faulthandler.enable(sys.stderr)


def configure_logging(log: int | None = None) -> None:
    """Readable lines to standard error, and JSON lines to a file whose descriptor is given."""
    handlers: list[logging.Handler] = [_screen()]
    if log is not None:
        lines = _LogFile(os.fdopen(log, "a", encoding="utf-8"))
        lines.setFormatter(_formatter(structlog.processors.JSONRenderer(sort_keys=True)))
        handlers.append(lines)
    logging.basicConfig(handlers=handlers, level=logging.WARNING, force=True)
    logging.getLogger("asterism").setLevel(logging.INFO)
    _through_logging()


def log_to_stderr() -> None:
    """Readable lines to standard error for a program that imports Asterism, and sets up no log."""
    if structlog.is_configured():
        return
    logger = logging.getLogger("asterism")
    if not logging.getLogger().handlers:
        logger.addHandler(_screen())
    logger.setLevel(logging.INFO)
    _through_logging()


def _screen() -> logging.Handler:
    """Shows events as readable lines."""
    screen = logging.StreamHandler(_AboveTheBar())
    renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0)
    screen.setFormatter(_formatter(_clock_only, _printable, renderer))
    return screen


def _formatter(*processors: Any) -> logging.Formatter:
    """Makes lines of events, those of Python's own logging too."""
    first = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_FACTS, processors=[first, *processors]
    )


def _through_logging() -> None:
    """Events go to the handlers of Python's own logging."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_FACTS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _clock_only(_: Any, __: str, event: Any) -> Any:
    """On the screen a timestamp is its time of day; the file keeps the date."""
    stamp = event.get("timestamp")
    if isinstance(stamp, str) and "T" in stamp:
        return {**event, "timestamp": stamp.split("T")[1][:8]}
    return event


def _printable(_: Any, __: str, event: Any) -> Any:
    """Texts on one line each, as what they quote of a file may be anything; tracebacks on many."""
    return {
        key: (printable_lines if key == "exception" else printable)(value)
        if isinstance(value, str)
        else value
        for key, value in event.items()
    }
