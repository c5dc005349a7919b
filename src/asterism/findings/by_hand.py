"""A finding that someone saw by hand: a short script gets a folder, and facts beside it.

The script prints what is expected, then ``actual`` and what comes, and exits with 1 while the bug
lives. One that shows a crash ends by the signal.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from asterism.core.files.artifacts import replacing
from asterism.core.messages.errors import UserError
from asterism.differential.adapters.versions import installed_versions
from asterism.differential.oracle.compare import DIFFERENCES
from asterism.differential.oracle.finding import CRASH, ERROR, HANG, SILENT_ACCEPTANCE
from asterism.differential.report.bug_reports import CONFIRMATIONS
from asterism.differential.report.confirming import run_script
from asterism.differential.report.script_writer import REPRO
from asterism.findings.checking import LIVES, note_run, word_of
from asterism.findings.entry import Entry
from asterism.findings.sightings import Sighting

#: What a finding by hand may show, and where its facts say that it comes from.
SYMPTOMS, SOURCE = (*DIFFERENCES, ERROR, CRASH, HANG, SILENT_ACCEPTANCE), "hand"


def add_by_hand(
    script: Path, sighting: Sighting[Path], packages: Sequence[str], title: str, collection: Path
) -> Entry:
    """Give a script a folder of its own, if three fresh processes show what was seen.

    Args:
        script: exits with 1 while the bug lives.
        sighting: what it shows.
        packages: whose versions are noted.
        title: names the fault; empty for the place and the symptom.
        collection: its folder.

    Raises:
        UserError: there is no such script or symptom, or a process shows something else.
    """
    if not script.is_file():
        raise UserError(f"there is no script {script}")
    if sighting.symptom not in SYMPTOMS:
        raise UserError(f"{sighting.symptom!r} is none of {', '.join(SYMPTOMS)}")
    installed = installed_versions()
    versions = {package: installed[package] for package in packages}
    entry = sighting.entry(SOURCE, [sighting.backend], [], versions)
    if title:
        entry = replace(entry, told=replace(entry.diagnosis, title=title))
    runs = [run_script(script) for _ in range(CONFIRMATIONS)]
    words = [word_of(entry, run) for run in runs]
    if words != [LIVES] * len(runs):
        raise UserError(f"{script} is not confirmed: its runs say {', '.join(words)}, not {LIVES}")
    with replacing(collection / entry.name) as folder:
        folder.mkdir(parents=True)
        shutil.copyfile(script, folder / REPRO)
        entry.write(folder)
    return note_run(collection, entry, runs[-1])
