"""Running the checks of a collection again: which bugs live, each in a process of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

from asterism.core.randomness.random_streams import stream
from asterism.core.workers.processes import run_alone
from asterism.core.workers.starting import OWN_INTERPRETER, Interpreter
from asterism.findings.entry import Entry
from asterism.libraries.adapters.backends import product_of
from asterism.libraries.adapters.environments import environment, names
from asterism.libraries.reporting.script_writer import CHECK
from asterism.libraries.reporting.stand_in import script_environment

#: Time limit of one check, in seconds: some wait a minute for a hang.
SECONDS = 300

LIVES, GONE, OTHER, LATE = "lives", "gone", "fails otherwise", "takes too long"


@dataclass(frozen=True)
class Checked:
    """How the check of a finding ended.

    Args:
        entry: the finding.
        status: exit status; None where it took too long.
    """

    entry: Entry
    status: int | None

    @property
    def word(self) -> str:
        """Whether the bug lives."""
        if self.status is None:
            return LATE
        return {1: LIVES, 0: GONE}.get(self.status, OTHER)


def check_status(
    script: Path, interpreter: Interpreter = OWN_INTERPRETER, seconds: float = SECONDS
) -> int | None:
    """How a fresh process ends that runs a check; None where it takes too long.

    Args:
        script: the check.
        interpreter: the Python that runs it.
        seconds: time limit.
    """
    with tempfile.TemporaryDirectory() as folder:
        given = dict(os.environ) | script_environment(script, Path(folder))
        if interpreter != OWN_INTERPRETER:  # nothing that is installed here is to be found there
            given.pop("PYTHONPATH", None)
            given["PYTHONNOUSERSITE"] = "1"
        return run_alone(
            [interpreter.executable, str(script.resolve())],
            seconds,
            cwd=folder,
            env={**given, "TMPDIR": folder},
            stdout=DEVNULL,
            stderr=DEVNULL,
        )


def check_all(
    collection: Path, entries: Sequence[Entry], seconds: float = SECONDS
) -> Iterator[Checked]:
    """Run the checks of these findings, one after another."""
    for entry in entries:
        yield Checked(entry, check_status(collection / entry.name / CHECK, seconds=seconds))


def elsewhere(collection: Path, entry: Entry) -> dict[str, str]:
    """Whether other versions have a finding: those whose environments are made, by their names.

    Only checks that hold the model as a file run there: other ones need a converter.
    """
    check = collection / entry.name / CHECK
    if not entry.in_file:
        return {}
    found: dict[str, str] = {}
    for name in names():
        other = environment(name)
        if product_of(name) == entry.library and other.is_made:
            status = check_status(check, other.interpreter())
            word = "has it" if status == 1 else "has it not" if status == 0 else ""
            found |= {name: word} if word else {}
    return found


def sample_of(entries: Sequence[Entry], size: int, seed: int) -> list[Entry]:
    """Some findings, drawn from all."""
    order = stream(seed, "sample of findings").permutation(len(entries))
    return [entries[int(i)] for i in sorted(order[:size])]


def counts_of(checked: Sequence[Checked]) -> str:
    """How many checks ended how, as a line."""
    words = [c.word for c in checked]
    counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    return f"{len(checked)} checked: {counts or 'none'}"


def exit_status(checked: Sequence[Checked]) -> int:
    """0 where every check says whether its bug lives, 1 where one cannot tell."""
    return int(any(c.word in (OTHER, LATE) for c in checked))
