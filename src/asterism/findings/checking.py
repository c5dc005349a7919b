"""Running the checks of a collection again: which bugs live, each in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import DEVNULL

from asterism.core.files.own_folders import own_temporary_folder
from asterism.core.randomness.random_streams import stream
from asterism.core.workers.processes import run_alone
from asterism.core.workers.starting import OWN_INTERPRETER, Interpreter
from asterism.findings.entry import Entry, read_entry
from asterism.libraries.adapters.backends import product_of
from asterism.libraries.adapters.environments import environment, names
from asterism.libraries.adapters.library import CONVERTERS, LIBRARIES
from asterism.libraries.reporting.script_writer import CHECK
from asterism.libraries.reporting.stand_in import script_environment

#: Time limit of one check, in seconds: some wait a minute for a hang.
SECONDS = 300

LIVES, GONE, OTHER, LATE = "lives", "gone", "fails otherwise", "takes too long"

#: What a check's exit status in another version says of a finding.
ELSEWHERE: Mapping[int | None, str] = {1: "has it", 0: "has it not"}

#: What every other exit status and a check that takes too long say.
CANNOT_TELL = "cannot tell"


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
    with own_temporary_folder() as folder:
        given = dict(os.environ)
        if interpreter != OWN_INTERPRETER:  # it finds by itself what is to be found there
            given.pop("PYTHONPATH", None)
            given["PYTHONNOUSERSITE"] = "1"
        given |= script_environment(script, folder, given)
        return run_alone(
            [interpreter.executable, str(script.resolve())],
            seconds,
            cwd=folder,
            env={**given, "TMPDIR": str(folder)},
            stdout=DEVNULL,
            stderr=DEVNULL,
        )


def check_all(
    collection: Path, entries: Sequence[Entry], seconds: float = SECONDS
) -> Iterator[Checked]:
    """Run the checks of these findings, one after another."""
    for entry in entries:
        yield Checked(entry, check_status(collection / entry.name / CHECK, seconds=seconds))


def elsewhere(
    collection: Path, entry: Entry, environments: Iterable[str], seconds: float = SECONDS
) -> dict[str, str]:
    """Whether other versions have a finding, or cannot tell, by environment.

    Args:
        collection: the folder of the finding's folder.
        entry: the finding.
        environments: names; those of other libraries than the finding's are passed over.
        seconds: time limit of each check.

    Raises:
        UserError: an environment of its library is not made.
    """
    check = collection / entry.name / CHECK
    found: dict[str, str] = {}
    for name in environments:
        if _package_of(product_of(name)) == _package_of(entry.library):
            status = check_status(check, environment(name).interpreter(), seconds)
            found[name] = ELSEWHERE.get(status, CANNOT_TELL)
    return found


def note_elsewhere(
    collection: Path,
    entries: Sequence[Entry],
    environments: Sequence[str],
    seconds: float = SECONDS,
) -> Iterator[Entry]:
    """Check findings in other versions and note what they say; each finding, as it is noted.

    A finding is read again before it is written: another process may have noted something.

    Args:
        collection: the folder.
        entries: the findings.
        environments: names; what others were seen to say stays.
        seconds: time limit of each check.
    """
    for entry in entries:
        said = elsewhere(collection, entry, environments, seconds)
        today = read_entry(collection, entry.name)
        kept = {name: word for name, word in today.elsewhere.items() if name not in environments}
        noted = replace(today, elsewhere=kept | said)
        if noted != today:
            noted.write(collection / entry.name)
        yield noted


def made_environments() -> list[str]:
    """Names of the environments that are made on this machine."""
    return [name for name in names() if environment(name).is_made]


def _package_of(library: str) -> str:
    """The package that is a library or converter; the others that it needs stand behind it."""
    if library in LIBRARIES:
        return LIBRARIES[library].packages[0]
    return CONVERTERS[library].packages[0] if library in CONVERTERS else library


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
