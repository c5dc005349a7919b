"""Reports of findings, each in the template that its library asks issues to have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from asterism.core.messages.escaping import printable
from asterism.findings.checking import CANNOT_TELL, ELSEWHERE
from asterism.findings.diagnosis import TO_MEND
from asterism.findings.entry import Entry
from asterism.differential.adapters.environments import by_version
from asterism.differential.report.markdown import block
from asterism.differential.report.script_writer import REPRO

REPORT = "report.md"

#: Characters that Markdown reads: an underscore within a word is none.
_MARKUP = re.compile(r"([\\\[\]*]|(?<!\w)_|_(?!\w))")

#: Libraries that have the template of another one: converters that are part of it, and those that
#: have none of their own.
_LIKE = {
    "tflite": "litert",
    "onnx2torch": "onnx",
    "onnx2pytorch": "onnx",
}


def report_of(entry: Entry, folder: Path) -> str:
    """The report of a finding.

    Args:
        entry: the finding.
        folder: that holds its script.
    """
    library = (entry.diagnosis.mended_by or entry.library).partition(",")[0]
    body = Template(_template_of(library)).substitute(_parts(entry, folder, library))
    spaced = body.replace("\n### ", "\n\n### ")
    return f"# {prose(entry.diagnosis.title)}\n\n{spaced}"


def _template_of(library: str) -> str:
    """The library's template, whose names after ``$`` are the parts of :func:`_parts`."""
    templates = files("asterism.findings").joinpath("templates")
    name = _LIKE.get(library, library)
    known = {file.name for file in templates.iterdir()}
    chosen = f"{name}.md" if f"{name}.md" in known else "onnx.md"
    return templates.joinpath(chosen).read_text(encoding="utf-8")


def _parts(entry: Entry, folder: Path, library: str) -> dict[str, str]:
    """What the names in templates stand for."""
    packages = ", ".join(f"{name} {version}" for name, version in entry.versions.items())
    own = {"litert": "ai-edge-litert"}.get(library, library)
    ran = entry.ran
    return {
        "description": "\n\n".join(_description(entry)),
        "script": block((folder / REPRO).read_text(encoding="utf-8"), "python"),
        "output": block(ran.output if ran else "(it has not run yet)", "text"),
        "packages": packages,
        "version": entry.versions.get(own, packages),
        "python": ran.python if ran else "",
        "system": ran.system if ran else "",
        "processor": ran.processor if ran else "",
    }


def _description(entry: Entry) -> list[str]:
    """Paragraphs: what is wrong and why, what it does to users, and what else was tried."""
    said = entry.diagnosis
    told = (
        ("", said.because),
        ("It contradicts: ", said.contradicts),
        ("What a user sees: ", said.effect),
        ("Smallest inputs: ", said.smallest),
        ("Versions: ", history_of(entry)),
        ("Upstream: ", ", ".join(said.upstream)),
        ("Looked for upstream: ", said.searched),
        ("Same cause as: ", said.duplicate_of),
        ("Note: ", said.audit_note),
    )
    lines = [f"{head}{prose(text)}" for head, text in told if text]
    if said.siblings:
        tried = "\n".join(f"- {prose(text)}" for text in said.siblings)
        lines.insert(4, f"Also tried:\n\n{tried}")
    if said.kind not in TO_MEND:
        lines.insert(0, f"Filed as: {said.kind}.")
    return lines


def history_of(entry: Entry) -> str:
    """Which versions have it, in their order, and what is known of its beginning.

    Versions that cannot tell are named only where no other version can.
    """
    said = entry.elsewhere
    versions = sorted(said, key=by_version)
    saying = {word: [v for v in versions if said[v] == word] for word in ELSEWHERE.values()}
    if versions and not any(saying.values()):
        saying = {CANNOT_TELL: versions}
    parts = [f"{word}: {_releases(some)}" for word, some in saying.items() if some]
    return "; ".join([entry.diagnosis.since] * bool(entry.diagnosis.since) + parts)


def _releases(environments: Sequence[str]) -> str:
    """Environments by their releases, each library once: ``openvino 2025.0, 2025.4``."""
    releases: dict[str, list[str]] = {}
    for name in environments:
        library, _, release = name.partition("@")
        releases.setdefault(library, []).append(release)
    return ", ".join(f"{library} {', '.join(some)}" for library, some in releases.items())


def prose(text: str) -> str:
    """A text of a collection on one line: code in backticks stays, other Markdown has no effect."""
    parts = printable(" ".join(text.split())).split("`")
    if len(parts) % 2 == 0:  # a backtick without its end
        parts[-2:] = ["'".join(parts[-2:])]
    parts[::2] = map(_without_markup, parts[::2])
    return "`".join(parts)


def _without_markup(text: str) -> str:
    """A text whose HTML and Markdown have no effect; links of their own are none of it."""
    words = text.replace("<", "&lt;").split(" ")
    return " ".join(w if "://" in w else _MARKUP.sub(r"\\\1", w) for w in words)
