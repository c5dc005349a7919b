"""One sighting for each cause: the options that decide, and failures that say the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asterism.findings.calls.call import Call
from asterism.findings.calls.campaign import Shown
from asterism.libraries.judging.finding import CRASH, ERROR, HANG, RIGHT, SILENT_ACCEPTANCE
from asterism.findings.calls.way import WAYS
from asterism.libraries.judging.compare import DIFFERENCES

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


@dataclass(frozen=True)
class CallSighting:
    """A call that shows a finding by a way.

    Args:
        call: what was called.
        way: by its name.
        shown: what it showed.
        needed: options that decide, and their values.
    """

    call: Call
    way: str
    shown: Shown
    needed: Mapping[str, str]

    @property
    def library(self) -> str:
        """To blame."""
        return WAYS[self.way].library

    @property
    def signature(self) -> str:
        """A stable name: symptom, library, and function with what decides."""
        named = ", ".join(f"{name}={value}" for name, value in sorted(self.needed.items()))
        return f"{self.shown.word} | {self.library} | {self.call.family}({named})"

    @property
    def place(self) -> tuple[str, ...]:
        """Where its cause lies: of failures the frame and words, of values the function."""
        shown = self.shown
        if shown.word == ERROR:
            return self.library, shown.exception, shown.frame, _words(shown.details)
        if shown.word in (CRASH, HANG):
            return self.library, shown.word, shown.exception, family_of(self.call.family)
        if "outputs in place of" in shown.details:
            return self.library, "number of outputs"
        kind = SILENT_ACCEPTANCE if shown.word == SILENT_ACCEPTANCE else "wrong"
        return self.library, kind, family_of(self.call.family)


def sightings_of(calls: Mapping[str, Call], way: str, shown: Sequence[Shown]) -> list[CallSighting]:
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
        right = [calls[other] for other in alike if by_name[other].word == RIGHT]
        found.append(CallSighting(call, way, one, _deciding(call, right)))
    return found


def distinct(sightings: Sequence[CallSighting]) -> list[tuple[CallSighting, list[str]]]:
    """One sighting for each cause, and the signatures of the others of that cause.

    Of one function and library a wrong result is one cause, whatever way shows it, unless
    options decide that have nothing in common.
    """
    order = sorted(
        sightings,
        key=lambda s: (
            s.call.is_empty,
            s.shown.word not in DIFFERENCES,
            len(_options(s)),
            len(s.needed),
            len(s.call.expression),
        ),
    )
    kept: dict[tuple[str, ...], list[tuple[CallSighting, list[str]]]] = {}
    for sighting in order:
        here = kept.setdefault(sighting.place, [])
        mine = _options(sighting)
        same = next(
            (
                known
                for known in here
                if sighting.shown.word in (ERROR, CRASH, HANG)
                or not mine
                or not _options(known[0])
                or mine & _options(known[0])
            ),
            None,
        )
        if same is None:
            here.append((sighting, []))
        elif sighting.signature != same[0].signature:
            same[1].append(sighting.signature)
    return [(first, sorted(set(others))) for rows in kept.values() for first, others in rows]


def family_of(name: str) -> str:
    """The family of a function: those of one, two and three axes are one."""
    family = re.sub(r"[123]d", "", name.lower()).partition(" ")[0]
    return next((kin[0] for kin in _KIN if family in kin), family)


def _deciding(call: Call, right: Sequence[Call]) -> dict[str, str]:
    """Facts which, changed alone, make it vanish."""
    facts = call.facts
    needed: dict[str, str] = {}
    for other in right:
        theirs = other.facts
        apart = {n for n in {*facts, *theirs} if facts.get(n) != theirs.get(n)}
        kinds = {n.partition(" of ")[0] for n in apart}
        if len(apart) == 1 or kinds in ({"dtype"}, {"shape"}):
            needed |= {name: facts[name] for name in apart if name in facts}
    return needed


def _options(sighting: CallSighting) -> frozenset[str]:
    """Names of the options that decide, without dtypes and shapes."""
    return frozenset(name for name in sighting.needed if " of " not in name)


def _words(message: str) -> str:
    """The words of a message without numbers and names of nodes."""
    text = re.sub(r"['\"`].*?['\"`]|%\S+|\S*\d\S*", "", _REDUCTIONS.sub("Reduce", message))
    return " ".join(re.findall(r"[A-Za-z_]{3,}", text)[:14])
