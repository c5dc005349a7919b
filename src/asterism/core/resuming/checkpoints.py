"""Checkpoints of long stages, from which a killed run resumes with exactly the same result.

DVC deletes a stage's outputs before it runs again, so checkpoints live outside the workspace,
under a key made of everything that the result depends on: the stage, its parameters and the
content of its dependencies. A checkpoint of other code, parameters or inputs is never found.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from asterism.core.files.artifacts import read_json
from asterism.core.files.locks import hold_lock_now
from asterism.core.resuming import saved_folders

#: Seconds between two savings: the work that a killed run does again. No result depends on it.
SAVE_EVERY = 10.0

#: Seconds that a saving may take. Where one takes longer, the next waits longer by that factor, so
#: that savings are less than 2% of a run, even while they become longer.
_LONGEST = 0.015 * SAVE_EVERY

R = TypeVar("R")

#: The names of states, and how many there can be.
_NUMBER, _STATES = re.compile(r"[0-9]{8}"), 10**8

#: The file of facts in a state.
_FACTS = "facts.json"


class Checkpoint:
    """The latest saved state of one piece of work.

    A state is a folder that the work fills and reads as it likes. States are numbered, and the
    one with the highest number is the latest. It is moved into place whole, and older ones are
    removed after that, so at every moment one whole state exists.

    Args:
        folder: where states are kept, below ``state.root``.

    Attributes:
        seconds: spent on savings.
    """

    def __init__(self, folder: Path) -> None:
        self.seconds = 0.0
        self._folder = folder
        self._saved = time.monotonic()
        self._took = 0.0
        #: The files of the state that this object has saved last, with their digests.
        self._written: dict[Path, str] = {}

    def latest(self) -> Path | None:
        """Folder of the latest state, or None when there is none."""
        states = self._states()
        return states[-1] if states else None

    def restore(self, read: Callable[[Path], R]) -> R | None:
        """What ``read`` makes of the latest state's folder, or None when there is none.

        A damaged state is set aside, and the one before taken, if it is still there.

        Args:
            read: reads a state. It changes nothing before all has been read.
        """
        for state in reversed(self._states()):
            try:
                return saved_folders.read(state, read)
            except saved_folders.DamagedError as reason:
                saved_folders.set_aside(state, reason)
                self._written = {}
        return None

    def is_due(self) -> bool:
        """Whether it is long enough ago that a state was saved, or that the run began."""
        wait = SAVE_EVERY * max(1.0, self._took / _LONGEST)
        return time.monotonic() - self._saved >= wait

    def save(self, fill: Callable[[Path], None], grows: Collection[str] = ()) -> None:
        """Save a new state, then remove the old one.

        Args:
            fill: writes the state into a folder.
            grows: names of folders in the state to which files are only ever added. ``fill`` finds
                in them what this object has saved before, and adds what is new since.
        """
        began = time.monotonic()
        states = self._states()
        number = (int(states[-1].name) + 1) % _STATES if states else 0
        kept = {path: digest for path, digest in self._written.items() if path.parent.name in grows}
        folder = self._folder / f"{number:08d}"
        digests = saved_folders.write(folder, fill, kept)
        self._written = {folder / name: digest for name, digest in digests.items()}
        for state in states:
            saved_folders.remove(state)
        self._saved = time.monotonic()
        self._took = self._saved - began
        self.seconds += self._took

    def discard(self) -> None:
        """Forget all states: the work is finished."""
        for state in self._states():
            saved_folders.remove(state)

    def _states(self) -> list[Path]:
        """All states, the oldest first. A link in the place of their folder is set aside."""
        saved_folders.require_no_link(self._folder.parent)
        if self._folder.is_symlink():
            saved_folders.set_aside(self._folder, "it is a symbolic link")
        if not self._folder.is_dir():
            return []
        return sorted(path for path in self._folder.iterdir() if _NUMBER.fullmatch(path.name))


class SavedFacts:
    """JSON values that become known one by one, saved as the checkpoint of them all.

    Args:
        checkpoint: where they are saved; None for nowhere.

    Attributes:
        known: all of them, the oldest first, those of earlier processes too.
    """

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        self._checkpoint = checkpoint
        saved = None if checkpoint is None else checkpoint.restore(_facts)
        self.known: list[Any] = saved or []

    def add(self, fact: Any) -> None:
        """Add one, and save where a saving is due."""
        self.known.append(fact)
        if self._checkpoint is not None and self._checkpoint.is_due():
            self.save()

    def save(self) -> None:
        """Save what is known."""
        if self._checkpoint is not None:
            text = json.dumps(self.known, allow_nan=False)  # keys stay in their order
            self._checkpoint.save(partial(_write_facts, text))


@contextmanager
def saved_facts(folder: Path) -> Iterator[SavedFacts]:
    """The facts that are saved in a folder below ``state.root``; saved again when the block ends.

    Raises:
        UserError: a symbolic link leads there.
        BlockingIOError: another process is at them.
    """
    saved_folders.require_no_link(folder)
    with hold_lock_now(folder / "in-use.lock"):
        facts = SavedFacts(Checkpoint(folder))
        try:
            yield facts
        finally:
            facts.save()


def read_facts(folder: Path) -> list[Any]:
    """The facts that are saved in a folder, to which another process may be adding."""
    return saved_folders.look(Checkpoint(folder).latest, _facts) or []


def _write_facts(text: str, folder: Path) -> None:
    (folder / _FACTS).write_text(text, encoding="utf-8")


def _facts(folder: Path) -> list[Any]:
    return list(read_json(folder / _FACTS))


def count_appended_items(folder: Path) -> int:
    """How many items the files in a folder hold to which a stage only ever adds files.

    A file's name is the total number of items saved so far, this file included.
    """
    return max((int(path.stem) for path in folder.glob("*")), default=0)
