"""Calls that show findings, with the options that decide and the place of the cause."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from asterism.differential.oracle.compare import DIFFERENCES
from asterism.differential.oracle.finding import CRASH, ERROR, HANG, RIGHT, SILENT_ACCEPTANCE
from asterism.findings.calls.call import Call
from asterism.findings.calls.campaign import Shown
from asterism.findings.calls.way import WAYS
from asterism.findings.sightings import Sighting, deciding

#: What a way can show that is a finding.
FINDINGS = (*DIFFERENCES, ERROR, CRASH, HANG, SILENT_ACCEPTANCE)
#: Functions that are made of each other: what one loses, the others lose.
_KIN = (
    ("torch.var", "torch.std", "torch.var_mean", "torch.std_mean", "torch.mean", "torch.nanmean"),
    ("tf.math.reduce_variance", "tf.math.reduce_std", "tf.nn.moments", "tf.reduce_mean"),
    ("torch.sort", "torch.argsort"),
    ("torch.stack", "torch.hstack", "torch.vstack", "torch.dstack", "torch.column_stack"),
    ("torch.fft.fft", "torch.fft.ifft", "torch.fft.rfft", "torch.fft.irfft", "torch.fft.hfft"),
    ("f.interpolate", "tf.image.resize"),
)
#: Operators that share their code, in messages.
_REDUCTIONS = re.compile(r"Reduce(Sum|Mean|Max|Min|Prod|L1|L2|LogicalAnd|LogicalOr)")


def sightings_of(
    calls: Mapping[str, Call], way: str, shown: Sequence[Shown]
) -> list[Sighting[Call]]:
    """What a way has shown, with what decides, in the order of the calls."""
    by_name = {s.call: s for s in shown if s.call in calls}
    rows: dict[tuple[str, int], list[str]] = {}
    for name in by_name:
        key = calls[name].family, len(calls[name].inputs)
        rows.setdefault(key, []).append(name)
    found = []
    for name, one in by_name.items():
        if one.word not in FINDINGS:
            continue
        call = calls[name]
        alike = [other for other in rows[call.family, len(call.inputs)] if other != name]
        right = [calls[other].facts for other in alike if by_name[other].word == RIGHT]
        found.append(sighting_of(call, way, one, deciding(call.facts, right)))
    return found


def sighting_of(call: Call, way: str, shown: Shown, needed: Mapping[str, str]) -> Sighting[Call]:
    """A call that shows a finding by a way.

    Of one function and library a wrong result is one cause, whatever way shows it, unless options
    decide that have nothing in common. Failures that say the same are one cause in all functions.

    Args:
        call: what was called.
        way: by its name.
        shown: what it showed.
        needed: facts that decide, and their values.
    """
    library, word = WAYS[way].library, shown.word
    options = frozenset(name for name in needed if " of " not in name)
    if word == ERROR:
        place = library, shown.exception, shown.frame, _words(shown.details)
    elif word in (CRASH, HANG):
        place = library, word, shown.exception, family_of(call.family)
    elif "outputs in place of" in shown.details:
        place = library, "number of outputs", "", ""
    else:
        kind = SILENT_ACCEPTANCE if word == SILENT_ACCEPTANCE else "wrong"
        place = library, kind, family_of(call.family), ""
    rank = int(word not in DIFFERENCES), len(options), len(needed), len(call.expression)
    inputs = "empty" if call.is_empty else "normal"
    told = frozenset() if word in (ERROR, CRASH, HANG) else options
    given = call, way, library, word, call.family, needed, inputs, tuple(filter(None, place)), rank
    return Sighting(*given, told, shown.details)


def family_of(name: str) -> str:
    """The family of a function: those of one, two and three axes are one."""
    family = re.sub(r"[123]d", "", name.lower()).partition(" ")[0]
    return next((kin[0] for kin in _KIN if family in kin), family)


def _words(message: str) -> str:
    """The words of a message without numbers and names of nodes."""
    text = re.sub(r"['\"`].*?['\"`]|%\S+|\S*\d\S*", "", _REDUCTIONS.sub("Reduce", message))
    return " ".join(re.findall(r"[A-Za-z_]{3,}", text)[:14])
