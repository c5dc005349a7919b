"""Calls that go wrong as candidates of the collection: scripts, and confirmation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from pathlib import Path

import numpy as np

from asterism.differential.adapters.versions import installed_versions
from asterism.differential.oracle.compare import DIFFERENCES
from asterism.differential.report.confirming import Death
from asterism.differential.report.script_writer import REPRO
from asterism.findings.calls.call import Call
from asterism.findings.calls.campaign import read_shown
from asterism.findings.calls.judging import judge, standards_of
from asterism.findings.calls.program import FILLS, Program
from asterism.findings.calls.running import Ran, Runners
from asterism.findings.calls.scripts import DEATHS, script_text
from asterism.findings.calls.sightings import sightings_of
from asterism.findings.calls.table import calls_of
from asterism.findings.calls.way import WAYS, Way
from asterism.findings.causes import Candidate
from asterism.findings.collecting import versions_of_library
from asterism.findings.sightings import Seen, Sighting, confirmed, distinct, folder_of


def write_call_candidates(
    folder: Path,
    framework: str,
    runners: Runners,
    noted: Set[str],
    limits: Collection[str],
    scratch: Path,
    only: Collection[str] = (),
) -> Iterator[Candidate | None]:
    """A script for each cause; None for one that three fresh processes do not show.

    Args:
        folder: of the ways' files.
        framework: whose calls.
        runners: workers of the framework.
        noted: signatures that the collection knows.
        limits: parts of signatures of what a library documents not to do.
        scratch: for the results.
        only: parts of signatures, one of which a finding must have; none for all.
    """
    calls = calls_of(framework)
    ways = [name for name in WAYS if WAYS[name].framework == framework]
    found = [s for name in ways for s in sightings_of(calls, name, read_shown(folder, name))]
    for sighting, others in distinct(found):
        if noted & {sighting.signature, *others}:
            continue
        if any(part in sighting.signature for part in limits):
            continue
        if only and not any(part in sighting.signature for part in only):
            continue
        yield _candidate(sighting, others, runners, scratch)


def _candidate(
    sighting: Sighting[Call], others: Sequence[str], runners: Runners, scratch: Path
) -> Candidate | None:
    made = _simplest(sighting, runners)
    if made is None:
        return None
    program, plains, indirect = made
    call, word, way = sighting.subject, sighting.symptom, program.way
    versions = _versions(call, way)
    said = ", ".join(f"{package} {version}" for package, version in versions.items())
    dtypes = way.finest, *call.narrow
    standards = standards_of(*plains, dtypes, runners.params) if word in DIFFERENCES else ()
    allowed = [0.0 if s is None else max(map(np.max, s.allowed())) for s in standards]
    text = script_text(program, word, sighting.signature, said, indirect, plains[0], allowed)
    place = folder_of(sighting, scratch)
    (place / REPRO).write_text(text, encoding="utf-8")
    facts = {"call": call.name, "said": sighting.details, "place": list(sighting.place)}
    right = (f"{call.framework}:eager",)
    seen = Seen("call", (sighting.backend,), right, versions, others, facts)
    return confirmed(sighting, seen, place, DEATHS.get(word, Death()))


def _simplest(
    sighting: Sighting[Call], runners: Runners
) -> tuple[Program, tuple[Ran, Ran, Ran], Ran] | None:
    """The call with the simplest inputs that show the symptom."""
    call, way = sighting.subject, WAYS[sighting.backend]
    for fill in FILLS:
        program = Program(call, way, fill)
        plains, indirect = runners.plain(program), runners.indirect(program)
        word, _ = judge(way, *plains, indirect, runners.params, call.narrow)
        if word == sighting.symptom:
            return program, plains, indirect
    return None


def _versions(call: Call, way: Way) -> dict[str, str]:
    installed = installed_versions()
    own = versions_of_library(call.framework)
    own.pop("keras", None)
    more = way.packages
    return own | {package: installed[package] for package in more if package in installed}
