"""The index of a collection, ``README.md``: a table for each kind of findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from asterism.findings.diagnosis import (
    DORMANT,
    KINDS,
    NO_FAULT,
    NOT_LOOKED_UP,
    REJECTED,
    WRONG,
)
from asterism.findings.entry import Entry
from asterism.findings.report import history_of, prose

INDEX = "README.md"

#: What stands below the last kind.
_DUPLICATES = "duplicate"

_HOW = """`python FOLDER/repro.py` shows one: it prints what is expected and what the library gives,
and exits with 1 while the bug lives, with 0 when it is gone. `make findings` runs all of them.
`finding.yaml` has the facts, `report.md` is in the template of the library's issues.
[What they took](campaign.md); [how to read and add findings](../docs/findings.md)."""


def index_page(entries: Sequence[Entry]) -> str:
    """All findings, each in the table of its kind; duplicates in cause stand apart.

    Args:
        entries: of a collection.
    """
    own = [entry for entry in entries if not entry.diagnosis.duplicate_of]
    by_kind = {kind: [e for e in own if e.diagnosis.kind == kind] for kind in KINDS}
    wrong = by_kind[WRONG]
    known = sum(bool(entry.diagnosis.upstream) for entry in wrong)
    ordinary = sum(entry.is_ordinary for entry in wrong)
    rest = ", ".join(
        f"{len(some)} {_PLURALS.get(kind, kind)}" for kind, some in by_kind.items() if kind != WRONG
    )
    repeated = [entry for entry in entries if entry.diagnosis.duplicate_of]
    sections = [_section(kind, KINDS[kind], some) for kind, some in by_kind.items()]
    sections.append(_section(_DUPLICATES, "They have the cause of another finding.", repeated))
    lines = [
        "# Findings",
        "",
        f"**{len(wrong)} wrong results**: each contradicts a sentence of documentation, or "
        "mathematics where both",
        f"sides are finite and defined. {ordinary} of them show on ordinary inputs, {known} are "
        "known upstream.",
        "",
        f"Apart from these: {rest}, {len(repeated)} duplicates in cause.",
        "",
        _HOW,
        "",
        *_by_library(wrong),
        *(line for section in sections for line in section),
    ]
    return "\n".join(lines)


_PLURALS = {
    "crash": "crashes",
    REJECTED: "valid inputs rejected",
    "difference": "differences",
    "stated limit or trivial": "stated limits or trivial",
    "empty or zero-sized": "of empty or zero-sized inputs",
    DORMANT: "in dormant projects",
    NO_FAULT: "that are no fault",
}


def _by_library(wrong: Sequence[Entry]) -> list[str]:
    """How many wrong results each library has to mend."""
    counts = Counter(entry.diagnosis.mended_by for entry in wrong)
    rows = (f"| {prose(library)} | {count} |" for library, count in counts.most_common())
    return ["| has to be mended in | wrong results |", "|---|---|", *rows, ""]


def _section(kind: str, meaning: str, entries: Sequence[Entry]) -> list[str]:
    """A heading and a table: what is wrong, where it shows and is mended, versions, upstream."""
    lines = [f"## {kind.capitalize()}: {len(entries)}", "", meaning, ""]
    if not entries:
        return lines
    order = sorted(entries, key=lambda e: (e.diagnosis.mended_by, not e.is_ordinary, e.name))
    lines += [
        "| finding | mended in | shows in | other versions | upstream |",
        "|---|---|---|---|---|",
    ]
    return [*lines, *map(_row, order), ""]


def _row(entry: Entry) -> str:
    said = entry.diagnosis
    cells = (
        f"[{prose(said.title)}]({entry.name}/report.md)",
        said.mended_by or "nothing",
        f"{', '.join(f'{p} {v}' for p, v in sorted(entry.versions.items()))}",
        history_of(entry),
        _upstream(entry),
    )
    first, *others = cells
    return f"| {' | '.join([_cell(first), *(_cell(prose(c)) for c in others)])} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _upstream(entry: Entry) -> str:
    """Links to issues, or the finding with the same cause."""
    said = entry.diagnosis
    if said.duplicate_of:
        return f"as {said.duplicate_of}"
    if said.upstream:
        return "known: " + ", ".join(said.upstream)
    if said.searched:
        return "not looked up" if said.searched.startswith(NOT_LOOKED_UP) else "not found"
    return ""
