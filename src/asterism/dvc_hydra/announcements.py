"""The moment at which DVC starts a stage's command, taken from its log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Self


class Announcements(logging.Handler):
    """Notes whether DVC said that it runs a command while the block lasted.

    Args:
        before: called at that moment, one after another.
    """

    def __init__(self, *before: Callable[[], None]) -> None:
        super().__init__()
        self._before = before
        self.ran = False

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of one of DVC's messages."""
        if str(record.msg).startswith("Running stage"):
            for call in self._before:
                call()
            self.ran = True

    def __enter__(self) -> Self:
        self._logger = logging.getLogger("dvc.stage.run")
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
