"""The one kind of error that a user is meant to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """Something that the user gave is wrong: bad input, bad configuration, a missing file.

    The message is one line that says what is wrong and what to do. The stage runner and the
    command line print it without a traceback and exit with status 1. Anything else that
    escapes is a defect of Asterism's own, and keeps its traceback.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


@contextmanager
def concerning(key: str) -> Iterator[None]:
    """A user's error in the block names first the parameter that it is about."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{key}: {error}") from None
