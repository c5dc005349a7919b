"""Running the scripts of a collection again: which bugs live, each in a process of its own."""

from __future__ import annotations

import platform
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from asterism.core.random_streams import stream
from asterism.core.settings import machine
from asterism.differential.adapters.backend_names import product_of
from asterism.differential.adapters.environments import (
    environment_names,
    installed_versions,
    package_of,
    read_environment,
)
from asterism.differential.oracle.finding import CRASH
from asterism.differential.report.confirming import (
    ACTUAL,
    EXPECTED,
    SECONDS,
    TOO_LATE,
    ScriptRun,
    run_script,
)
from asterism.differential.report.script_writer import REPRO
from asterism.findings.entry import CollectedFinding, LastRun, read_collected_finding

LIVES, GONE, OTHER, LATE = "lives", "gone", "fails otherwise", "takes too long"

#: What a script says of a finding in another version.
ELSEWHERE: Mapping[str, str] = {LIVES: "has it", GONE: "has it not"}

#: What of a processor decides in which kernels, and in which precision, libraries compute.
_UNITS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")

#: What every other end and a script that takes too long say.
CANNOT_TELL = "cannot tell"


def word_of(entry: CollectedFinding, run: ScriptRun) -> str:
    """Whether the bug of a finding lives, by the end of its script.

    A script ends with status 1 while it does, after it has printed what the library gives; one
    that is to crash ends by a signal.
    """
    end = run.end("signal" if entry.symptom == CRASH else "")
    if end == 1 and not all(word in run.output for word in entry.diagnosis.shows):
        return OTHER
    return {1: LIVES, 0: GONE, TOO_LATE: LATE}.get(end, OTHER)


def bug_lives(entry: CollectedFinding, script: Path, times: int) -> bool:
    """Whether the script of a finding shows it in each of some fresh processes."""
    return all(word_of(entry, run_script(script)) == LIVES for _ in range(times))


def check_all(
    collection: Path, entries: Sequence[CollectedFinding], seconds: float = SECONDS
) -> Iterator[tuple[CollectedFinding, ScriptRun]]:
    """Run the scripts of these findings, one after another."""
    for entry in entries:
        yield entry, run_script(collection / entry.name / REPRO, seconds=seconds)


def note_run(collection: Path, entry: CollectedFinding, ran: ScriptRun) -> CollectedFinding:
    """Note what a living bug's script printed, with the versions and the machine.

    Args:
        collection: the folder.
        entry: the finding.
        ran: a run in the installed environment.
    """
    today = read_collected_finding(collection, entry.name)
    if word_of(entry, ran) != LIVES:
        return today
    lines = _told(ran.output)
    if ran.status is not None and ran.status < 0:
        lines.append(f"(the process ends by {signal.Signals(-ran.status).name})")
    installed = installed_versions()
    versions = {name: installed.get(name, version) for name, version in today.versions.items()}
    last = LastRun("\n".join(lines), platform.python_version(), system(), processor())
    noted = replace(today, ran=last, versions=versions)
    if noted != today:
        noted.write(collection / noted.name)
    return noted


def _told(output: str) -> list[str]:
    """Lines of a script: what is expected, and all from what the library gives on.

    What libraries print as they load and convert stands between; it is another in each run.
    """
    lines = [line.rstrip() for line in output.rstrip().splitlines()]
    actual = next((at for at, ln in enumerate(lines) if ln.startswith(ACTUAL)), len(lines))
    return [line for line in lines[:actual] if line.startswith(EXPECTED)] + lines[actual:]


def note_elsewhere(
    collection: Path,
    entries: Sequence[CollectedFinding],
    environments: Sequence[str],
    seconds: float = SECONDS,
) -> Iterator[CollectedFinding]:
    """Check findings in other versions and note what they say; each finding, as it is noted.

    A finding is read again before it is written: another process may have noted something.

    Args:
        collection: the folder.
        entries: the findings.
        environments: names; what others were seen to say stays, and those of other libraries than
            the finding's are passed over.
        seconds: time limit of each script.

    Raises:
        UserError: an environment of a finding's library is not made.
    """
    for entry in entries:
        script, said = collection / entry.name / REPRO, {}
        for name in environments:
            if package_of(product_of(name)) == package_of(entry.library):
                ran = run_script(script, read_environment(name).interpreter(), seconds)
                said[name] = ELSEWHERE.get(word_of(entry, ran), CANNOT_TELL)
        today = read_collected_finding(collection, entry.name)
        kept = {name: word for name, word in today.elsewhere.items() if name not in environments}
        noted = replace(today, elsewhere=kept | said)
        if noted != today:
            noted.write(collection / entry.name)
        yield noted


def made_environments() -> list[str]:
    """Names of the environments that are made on this machine."""
    return [name for name in environment_names() if read_environment(name).is_made]


def sample_of(entries: Sequence[CollectedFinding], size: int, seed: int) -> list[CollectedFinding]:
    """Some findings, drawn from all."""
    order = stream(seed, "sample of findings").permutation(len(entries))
    return [entries[int(i)] for i in sorted(order[:size])]


def counts_of(words: Sequence[str]) -> str:
    """How many checks ended how, as a line."""
    counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    return f"{len(words)} checked: {counts or 'none'}"


def exit_status(words: Sequence[str]) -> int:
    """0 where every script says whether its bug lives, 1 where one cannot tell."""
    return int(any(word in (OTHER, LATE) for word in words))


def system() -> str:
    """Name of the operating system, as reports ask for it."""
    with suppress(OSError):
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {platform.machine()}"
    return platform.platform()


def processor() -> str:
    """Name of the processor, with those of its units that decide how libraries compute."""
    path = Path("/proc/cpuinfo")
    words = set(path.read_text(encoding="utf-8").split()) if path.exists() else set()
    named, units = machine.processor_name(), [unit for unit in _UNITS if unit in words]
    return f"{named} ({', '.join(units)})" if units else named
