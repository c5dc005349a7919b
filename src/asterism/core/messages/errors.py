"""UserError, the error for users; one line out of a library's long message; and missing packages.

Packages that only some lanes need are brought by extras of the installation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from asterism.core.messages.escaping import printable

#: The smallest extra that brings a module, by the module's name. A test compares it with what
#: pyproject.toml declares.
EXTRAS = {
    "tensorflow": "vetting",
    "keras": "vetting",
    "ai_edge_litert": "vetting",
    "tf2onnx": "vetting",
    "sklearn": "demo",
    "torch": "torch",
    "torchao": "torch",
    "art": "importance",
    "jax": "libraries",
    "openvino": "libraries",
    "onnx2torch": "libraries",
    "onnx2pytorch": "libraries",
    "coverage": "libraries",
    "dvc_s3": "remotes",
    "dvc_ssh": "remotes",
    "dvc_webdav": "remotes",
}


#: Extras of lanes that need PyTorch only where a parameter or a file asks for it.
_WITHOUT_TORCH = ("vetting", "importance", "stateful")


def missing_extra(error: BaseException, lane: str = "") -> str | None:
    """One line that names the extra, where an error says that a module of one is missing.

    Args:
        error: any.
        lane: the extra of the lane whose stage met it; empty for none.
    """
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    module = error.name.partition(".")[0]
    if module not in EXTRAS:
        return None
    extra = lane or EXTRAS[module]
    if EXTRAS[module] == "torch" and extra in _WITHOUT_TORCH:
        extra = f"{extra},torch"
    return f"{module} is not installed: run `pip install 'asterism[{extra}]'`"


#: Characters of a message: what it quotes of a file may be of any length.
_LONGEST = 2000
#: Characters of the longest words, which are not cut where a message is.
_WORD = 60


class UserError(Exception):
    """Something that the user gave is wrong: bad input, bad configuration, a missing file.

    The message is one line that says what is wrong and what to do. The stage runner and the
    command line print it without a traceback and exit with status 1. Anything else that
    escapes is a defect of Asterism's own, and keeps its traceback.
    """

    def __init__(self, message: str) -> None:
        super().__init__(shorten_line(printable(" ".join(message.split())), _LONGEST))


@contextmanager
def prefix_errors(key: str) -> Iterator[None]:
    """A user's error in the block names first the parameter that it is about."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{key}: {error}") from None


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """A user's error in the block names this file, or the folder of files, wherever it is from."""
    try:
        yield
    except UserError as error:
        if str(path) in str(error):
            raise
        raise UserError(f"{path}: {error}") from None


def reading(what: str) -> AbstractContextManager[None]:
    """Turn whatever the block raises because of the file that it reads into one line for the user.

    Args:
        what: the file and what is read from it, ``"arrays from images.npz"``.

    Raises:
        UserError: ``cannot read <what>: <why>``; a :class:`UserError` passes unchanged.
    """
    return attempting(f"read {what}")


@contextmanager
def attempting(act: str) -> Iterator[None]:
    """Turn whatever a library raises in the block because of what a user gave into one line.

    Args:
        act: what the block does, ``"convert the model to LiteRT"``.

    Raises:
        UserError: ``cannot <act>: <why>``; a :class:`UserError` passes unchanged.
    """
    try:
        yield
    except (UserError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # panics of libraries in Rust are no Exception
        raise UserError(f"cannot {act}: {_why(error)}") from None


def _why(error: BaseException) -> str:
    if (missing := missing_extra(error)) is not None:
        return missing
    if isinstance(error, MemoryError):
        return "there is not enough memory for it"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"there is no {extract_reason(str(error))} in it"
    return extract_reason(str(error)) or type(error).__name__


#: Lines by which Keras only announces what it has to say.
_ANNOUNCED = re.compile(r"Exception encountered when calling \S+\.$")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
#: Characters of a library's message that are told.
_REASON = 200


def extract_reason(said: str) -> str:
    """The line of a library's message that says why; nothing of an empty one.

    It is the first that announces no other or, where the message quotes a traceback, the one that
    ends it. Of a long line the middle is left out: some libraries say where first, and why last.
    """
    _, quoted, text = _COLOURS.sub("", said).rpartition("Traceback (most recent call last):")
    lines = [line for line in text.splitlines() if line and not (quoted and line[0].isspace())]
    line = next((told for told in map(str.strip, lines) if told and not _ANNOUNCED.match(told)), "")
    return shorten_line(line, _REASON)


def shorten_line(line: str, limit: int) -> str:
    """The line, or its beginning and its end where it has more characters than the limit."""
    if len(line) <= limit:
        return line
    start, end = line[: limit // 2], line[-(limit // 2) :]
    whole = start.rpartition(" ")[0], end.partition(" ")[2]  # words, where they are no paths
    kept = (w if len(p) - len(w) < _WORD else p for w, p in zip(whole, (start, end), strict=True))
    return " … ".join(kept)
