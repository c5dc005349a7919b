"""A finding that someone saw by hand: a short script gets a folder, and facts beside it.

The script prints what is expected, then ``actual`` and what comes, and exits with 1 while the bug
lives. One that shows a crash ends by the signal.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from asterism.core.files.artifacts import replacing
from asterism.core.messages.errors import UserError
from asterism.libraries.judging.finding import CRASH, ERROR, HANG, SILENT_ACCEPTANCE
from asterism.findings.checking import LIVES, Checked, note_run, run_script
from asterism.findings.collecting import name_of
from asterism.findings.entry import Entry
from asterism.libraries.adapters.versions import installed_versions
from asterism.libraries.judging.compare import DIFFERENCES
from asterism.libraries.reporting.bug_reports import CONFIRMATIONS
from asterism.libraries.reporting.script_writer import REPRO

#: What a finding by hand may show, and where its facts say that it comes from.
SYMPTOMS, SOURCE = (*DIFFERENCES, ERROR, CRASH, HANG, SILENT_ACCEPTANCE), "hand"


@dataclass(frozen=True)
class Seen:
    """What someone saw.

    Args:
        library: to blame.
        symptom: one of :data:`SYMPTOMS`.
        layer: function, layer or operator.
        backend: the way to run it that shows it.
        parameters: that are needed.
        inputs: kind of inputs.
        packages: whose versions are noted.
        title: names the fault; empty for the place and the symptom.
    """

    library: str
    symptom: str
    layer: str
    backend: str
    parameters: Mapping[str, str]
    inputs: str
    packages: Sequence[str]
    title: str = ""

    @property
    def signature(self) -> str:
        """A stable name."""
        named = ", ".join(f"{name}={value}" for name, value in sorted(self.parameters.items()))
        return f"{self.symptom} | {self.library} | {self.layer}({named})"

    def __post_init__(self) -> None:
        if self.symptom not in SYMPTOMS:
            raise UserError(f"{self.symptom!r} is none of {', '.join(SYMPTOMS)}")


def add_by_hand(script: Path, seen: Seen, collection: Path) -> Entry:
    """Give a script a folder of its own, if three fresh processes show what was seen.

    Args:
        script: exits with 1 while the bug lives.
        seen: what it shows.
        collection: its folder.

    Raises:
        UserError: there is no such script, or a process shows something else.
    """
    if not script.is_file():
        raise UserError(f"there is no script {script}")
    name = name_of(seen.library, seen.symptom, seen.layer, seen.signature)
    installed = installed_versions()
    entry = Entry(
        name=name,
        source=SOURCE,
        signature=seen.signature,
        library=seen.library,
        symptom=seen.symptom,
        severity="normal" if seen.inputs == "normal" else "special",
        inputs=seen.inputs,
        layer=seen.layer,
        parameters=dict(seen.parameters),
        backends=(seen.backend,),
        right=(),
        versions={package: installed[package] for package in seen.packages},
        statuses=(1,) * CONFIRMATIONS,
        models=1,
        lines=script.read_text(encoding="utf-8").count("\n"),
    )
    if seen.title:
        entry = replace(entry, told=replace(entry.diagnosis, title=seen.title))
    runs = [Checked(entry, run_script(script)) for _ in range(CONFIRMATIONS)]
    if any(run.word != LIVES for run in runs):
        words = ", ".join(run.word for run in runs)
        raise UserError(f"{script} is not confirmed: its runs say {words}, not {LIVES}")
    with replacing(collection / name) as folder:
        folder.mkdir(parents=True)
        shutil.copyfile(script, folder / REPRO)
        entry.write(folder)
    return note_run(collection, runs[-1])
