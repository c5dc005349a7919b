"""The classes that a reader gave the findings, beside the kinds that the index has them under."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from collection.diagnosis import (
    CRASH,
    DIFFERENCE,
    DORMANT,
    EMPTY,
    LIMIT,
    REJECTED,
    WRONG,
    Diagnosis,
)
from collection.entry import CollectedFinding

#: What each class of the audit means, and the kinds that agree with it.
CLASSES = {
    "A": ("a bug that would be accepted", (WRONG, CRASH, REJECTED)),
    "B": ("open or documented", (DIFFERENCE,)),
    "C": ("wrong or misleading", ()),
    "D": ("a duplicate in cause", ()),
    "E": ("trivial, or a stated limit", (LIMIT, EMPTY)),
    "F": ("a library that nobody maintains", (DORMANT,)),
}


def agrees_with_audit(diagnosis: Diagnosis) -> bool:
    """Whether a finding's kind is one of its audited class; a misleading one has been mended."""
    if diagnosis.audit == "D":
        return bool(diagnosis.duplicate_of)
    return diagnosis.kind in CLASSES[diagnosis.audit][1] and not diagnosis.duplicate_of


def audit_lines(entries: Sequence[CollectedFinding]) -> list[str]:
    """Lines: how many findings of each class are of which kind, then each one that disagrees."""
    read = [entry for entry in entries if entry.diagnosis.audit]
    lines = [f"{len(read)} findings were audited."]
    for letter, (meaning, _) in CLASSES.items():
        here = [entry.diagnosis for entry in read if entry.diagnosis.audit == letter]
        kinds = Counter("duplicate" if d.duplicate_of else d.kind for d in here)
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        lines.append(f"{letter} ({meaning}): {len(here)}: {counts}")
    others = unlike_audit(read)
    lines.append(f"{len(read) - len(others)} agree. The others, with the reason:")
    for entry in others:
        said = entry.diagnosis
        kind = f"duplicate of {said.duplicate_of}" if said.duplicate_of else said.kind
        lines.append(f"{said.audit} | {kind} | {entry.name} | {said.audit_note or 'NO REASON'}")
    return lines


def unlike_audit(entries: Sequence[CollectedFinding]) -> list[CollectedFinding]:
    """Audited findings whose kind is not one of their class."""
    return [e for e in entries if e.diagnosis.audit and not agrees_with_audit(e.diagnosis)]
