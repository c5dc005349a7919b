"""Calls that go wrong as candidates of the collection: scripts, report, and confirmation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from pathlib import Path

import numpy as np

from asterism.findings.calls.campaign import Runners, read_shown
from asterism.findings.calls.distinct import CallSighting, distinct, sightings_of
from asterism.findings.calls.judging import judge, standards_of
from asterism.findings.calls.program import FILLS, Program
from asterism.findings.calls.running import Ran
from asterism.findings.calls.scripts import DEATHS, script_text
from asterism.findings.calls.table import calls_of
from asterism.findings.calls.way import WAYS
from asterism.findings.causes import Candidate
from asterism.findings.collecting import REPORT, name_of, versions_of_library
from asterism.findings.entry import Entry
from asterism.libraries.adapters.versions import installed_versions
from asterism.libraries.judging.compare import DIFFERENCES
from asterism.libraries.reporting.bug_reports import CONFIRMATIONS
from asterism.libraries.reporting.confirming import Death, exit_statuses
from asterism.libraries.reporting.markdown import block, code, shown
from asterism.libraries.reporting.script_writer import REPRO

def all_sightings(folder: Path, frameworks: Collection[str]) -> list[CallSighting]:
    """What the ways of these frameworks have shown."""
    found = []
    for framework in sorted(frameworks):
        calls = calls_of(framework)
        for name in WAYS:
            if WAYS[name].framework == framework:
                found += sightings_of(calls, name, read_shown(folder, name))
    return found


def write_call_candidates(
    folder: Path,
    framework: str,
    runners: Runners,
    noted: Set[str],
    limits: Collection[str],
    scratch: Path,
    only: Collection[str] = (),
) -> Iterator[Candidate | None]:
    """Scripts and a report for each cause; None for one that three fresh processes do not show.

    Args:
        folder: of the ways' files.
        framework: whose calls.
        runners: workers of the framework.
        noted: signatures that the collection knows.
        limits: parts of signatures of what a library documents not to do.
        scratch: for the results.
        only: parts of signatures, one of which a finding must have; none for all.
    """
    for sighting, others in distinct(all_sightings(folder, [framework])):
        if noted & {sighting.signature, *others}:
            continue
        if any(part in sighting.signature for part in limits):
            continue
        if only and not any(part in sighting.signature for part in only):
            continue
        yield _candidate(sighting, others, runners, scratch)


def _candidate(
    sighting: CallSighting, others: Sequence[str], runners: Runners, scratch: Path
) -> Candidate | None:
    made = _simplest(sighting, runners)
    if made is None:
        return None
    program, plains, indirect = made
    word, signature = sighting.shown.word, sighting.signature
    name = name_of(sighting.library, word, sighting.call.family, signature)
    place = scratch / name
    place.mkdir(parents=True, exist_ok=True)
    versions = _versions(sighting)
    said = ", ".join(f"{package} {version}" for package, version in versions.items())
    dtypes = program.way.finest, *sighting.call.narrow
    standards = standards_of(*plains, dtypes, runners.params) if word in DIFFERENCES else ()
    allowed = [0.0 if s is None else max(map(np.max, s.allowed())) for s in standards]
    text = script_text(program, word, signature, said, indirect, plains[0], allowed)
    (place / REPRO).write_text(text, encoding="utf-8")
    death = DEATHS.get(word, Death())
    statuses = exit_statuses(place / REPRO, CONFIRMATIONS, death=death)
    if any(status != 1 for status in statuses):
        return None
    special = sighting.call.is_empty
    entry = Entry(
        name=name,
        source="call",
        signature=signature,
        library=sighting.library,
        symptom=word,
        severity="special" if special else "normal",
        inputs="empty" if special else "normal",
        layer=sighting.call.family,
        parameters=dict(sighting.needed),
        backends=(sighting.way,),
        right=(f"{sighting.call.framework}:eager",),
        versions=versions,
        statuses=statuses,
        models=1 + len(others),
        lines=(place / REPRO).read_text(encoding="utf-8").count("\n"),
        also=tuple(other for other in others if other != signature),
        finding={
            "call": sighting.call.name,
            "said": sighting.shown.details,
            "place": list(sighting.place),
        },
    )
    (place / REPORT).write_text(_report(entry, place, sighting), encoding="utf-8")
    return Candidate(entry, place)


def _simplest(
    sighting: CallSighting, runners: Runners
) -> tuple[Program, tuple[Ran, Ran, Ran], Ran] | None:
    """The call with the simplest inputs that show the symptom."""
    way = WAYS[sighting.way]
    for fill in FILLS:
        program = Program(sighting.call, way, fill)
        plains = runners.plain(program)
        indirect = runners.run(way, program.indirect, "actual")
        if (
            judge(way, *plains, indirect, runners.params, sighting.call.narrow)[0]
            == sighting.shown.word
        ):
            return program, plains, indirect
    return None


def _versions(sighting: CallSighting) -> dict[str, str]:
    installed = installed_versions()
    own = versions_of_library(sighting.call.framework)
    own.pop("keras", None)
    more = WAYS[sighting.way].packages
    return own | {package: installed[package] for package in more if package in installed}


def _report(entry: Entry, place: Path, sighting: CallSighting) -> str:
    """In the shape that the libraries' bug templates ask for."""
    versions = "\n".join(f"- {name} {version}" for name, version in entry.versions.items())
    plain = f"What {sighting.call.framework} gives when it calls the function plainly."
    if "except Exception" in (place / REPRO).read_text(encoding="utf-8"):
        plain = "An exception, as of the plain call."
    return f"""# {shown(entry.library)}: {shown(entry.symptom)} ({shown(entry.where)})

## Description

{code(entry.signature)}

{code(entry.finding["call"])} run as {code(sighting.way)}.

## Steps to reproduce

`python repro.py` prints what is expected and what comes, and exits with 1 while the bug lives
(exit statuses in three fresh processes: {", ".join(map(str, entry.statuses))}).

{block((place / REPRO).read_text(encoding="utf-8"), "python")}

## Expected behaviour

{plain}

## Actual behaviour

{block(f"{entry.symptom}: {entry.finding['said']}", "text")}

## Versions

{versions}
"""
