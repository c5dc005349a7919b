"""A finding that someone saw by hand: a short script gets its check, report and folder.

The script sets ``expected`` and ``actual``, as the scripts of calls do, or fails on the way.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asterism.core.files.artifacts import replacing
from asterism.core.messages.errors import UserError
from asterism.findings.calls.judging import ACCEPTS, DIES, FAILS, HANGS
from asterism.findings.calls.running import Ran
from asterism.findings.calls.scripts import check_text
from asterism.findings.checking import check_status
from asterism.findings.collecting import REPORT, name_of
from asterism.findings.entry import Entry
from asterism.libraries.adapters.versions import installed_versions
from asterism.libraries.judging.compare import DIFFERENCES
from asterism.libraries.reporting.bug_reports import CONFIRMATIONS
from asterism.libraries.reporting.markdown import block, code, shown
from asterism.libraries.reporting.script_writer import CHECK, REPRO

#: What a finding by hand may show, and where its facts say that it comes from.
SYMPTOMS, SOURCE = (*DIFFERENCES, FAILS, DIES, HANGS, ACCEPTS), "hand"


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
        exception: full name of an exception's type, where something fails.
        words: of its message.
        allowed: largest deviation that is none, of a wrong result.
    """

    library: str
    symptom: str
    layer: str
    backend: str
    parameters: Mapping[str, str]
    inputs: str
    packages: Sequence[str]
    exception: str = ""
    words: str = ""
    allowed: float = 1e-3

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
        script: sets ``expected`` and ``actual``.
        seen: what it shows.
        collection: its folder.

    Raises:
        UserError: there is no such script, or a process shows something else.
    """
    if not script.is_file():
        raise UserError(f"there is no script {script}")
    name = name_of(seen.library, seen.symptom, seen.layer, seen.signature)
    installed = installed_versions()
    with replacing(collection / name) as folder:
        folder.mkdir(parents=True)
        shutil.copyfile(script, folder / REPRO)
        odd = Ran("error", exception=seen.exception, message=seen.words)
        allowed = [seen.allowed] * 9
        check = check_text(seen.symptom, seen.signature, odd, odd, allowed)
        (folder / CHECK).write_text(check, encoding="utf-8")
        statuses = tuple(check_status(folder / CHECK) for _ in range(CONFIRMATIONS))
        if any(status != 1 for status in statuses):
            raise UserError(f"{script} is not confirmed: its check ended with {statuses}, not 1")
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
            lines=(folder / REPRO).read_text(encoding="utf-8").count("\n"),
        )
        (folder / REPORT).write_text(_report(entry, folder), encoding="utf-8")
        entry.write(folder)
    return entry


def _report(entry: Entry, folder: Path) -> str:
    """In the shape that the libraries' bug templates ask for."""
    versions = "\n".join(f"- {name} {version}" for name, version in entry.versions.items())
    return f"""# {shown(entry.library)}: {shown(entry.symptom)} ({shown(entry.where)})

## Description

{code(entry.signature)}

It was seen by hand, in {code(entry.backends[0])}.

## Steps to reproduce

`python repro.py` prints what is expected and what comes. `python check.py` decides (exit statuses
in three fresh processes: {", ".join(map(str, entry.statuses))}; 1 is the bug).

{block((folder / REPRO).read_text(encoding="utf-8"), "python")}

## Versions

{versions}
"""
