"""Calls that show findings: what decides, the place of the cause, and the script of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from asterism.differential.adapters.environments import installed_versions
from asterism.differential.oracle.finding import (
    CRASH,
    ERROR,
    HANG,
    RIGHT,
    SILENT_ACCEPTANCE,
    Finding,
)
from asterism.differential.oracle.standard import DIFFERENCES
from asterism.differential.report.decisions import ScriptDecision
from asterism.differential.report.program_text import ScriptProgram
from asterism.differential.report.script_writer import REPRO
from asterism.findings.calls.call import Call
from asterism.findings.calls.campaign import CallOutcome, read_shown
from asterism.findings.calls.judging import judge, standards_of
from asterism.findings.calls.program import FILLS, CallProgram
from asterism.findings.calls.running import CallWorkers
from asterism.findings.calls.table import calls_of
from asterism.findings.calls.way import WAYS, ExecutionVariant
from asterism.findings.entry import SYMPTOMS, CollectedFinding
from asterism.findings.sightings import FindingOccurrence, deciding

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


def all_sightings(folder: Path, framework: str) -> list[FindingOccurrence[Call]]:
    """What the ways of a framework have shown, as the ways' files in a folder say."""
    calls = calls_of(framework)
    ways = [name for name in WAYS if WAYS[name].framework == framework]
    return [s for name in ways for s in sightings_of(calls, name, read_shown(folder, name))]


def sightings_of(
    calls: Mapping[str, Call], way: str, shown: Iterable[CallOutcome]
) -> list[FindingOccurrence[Call]]:
    """What a way has shown, with what decides, in the order of the calls."""
    by_name = {s.call: s for s in shown if s.call in calls}
    rows: dict[tuple[str, int], list[str]] = {}
    for name in by_name:
        key = calls[name].family, len(calls[name].inputs)
        rows.setdefault(key, []).append(name)
    found = []
    for name, one in by_name.items():
        if one.word not in SYMPTOMS:
            continue
        call = calls[name]
        alike = [other for other in rows[call.family, len(call.inputs)] if other != name]
        right = [calls[other].facts for other in alike if by_name[other].word == RIGHT]
        found.append(sighting_of(call, way, one, deciding(call.facts, right)))
    return found


def sighting_of(
    call: Call, way: str, shown: CallOutcome, needed: Mapping[str, str]
) -> FindingOccurrence[Call]:
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
    entry = CollectedFinding.seen("call", library, word, call.family, needed, inputs, backend=way)
    return FindingOccurrence(call, entry, tuple(filter(None, place)), rank, told, shown.details)


def family_of(name: str) -> str:
    """The family of a function: those of one, two and three axes are one."""
    family = re.sub(r"[123]d", "", name.lower()).partition(" ")[0]
    return next((kin[0] for kin in _KIN if family in kin), family)


def _words(message: str) -> str:
    """The words of a message without numbers and names of nodes."""
    text = re.sub(r"['\"`].*?['\"`]|%\S+|\S*\d\S*", "", _REDUCTIONS.sub("Reduce", message))
    return " ".join(re.findall(r"[A-Za-z_]{3,}", text)[:14])


@dataclass(frozen=True)
class CallScripts:
    """Writes the scripts of calls.

    Args:
        workers: of the calls' framework.
    """

    workers: CallWorkers

    def __call__(self, sighting: FindingOccurrence[Call], folder: Path) -> CollectedFinding | None:
        """The script of the call with the simplest inputs that show the symptom."""
        call, entry, params = sighting.subject, sighting.entry, self.workers.params
        way, word = WAYS[entry.backends[0]], entry.symptom
        for fill in FILLS:
            program = CallProgram(call, way, fill)
            plains, indirect = self.workers.plain(program), self.workers.indirect(program)
            found = judge(way, *plains, indirect, params, call.narrow)
            if found.symptom == word:
                break
        else:
            return None
        versions = _versions(call, way)
        said = ", ".join(f"{package} {version}" for package, version in versions.items())
        dtypes = way.finest, *call.narrow
        standards = standards_of(*plains, dtypes, params) if word in DIFFERENCES else ()
        allowed = [0.0 if s is None else max(map(np.max, s.allowed())) for s in standards]
        text = script_text(program, found, entry.signature, said, allowed)
        (folder / REPRO).write_text(text, encoding="utf-8")
        facts = {"call": call.name, "said": sighting.details, "place": list(sighting.place)}
        right = (f"{call.framework}:eager",)
        return replace(entry, right=right, versions=versions, finding=facts)


def _versions(call: Call, way: ExecutionVariant) -> dict[str, str]:
    installed = installed_versions()
    own = installed_versions(call.framework)
    own.pop("keras", None)
    more = way.packages
    return own | {package: installed[package] for package in more if package in installed}


_SAME = """
def same(one, other, allowed):
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and np.allclose(
        numbers(one), numbers(other), rtol=0, atol=allowed, equal_nan=True)
"""


def script_text(
    program: CallProgram,
    finding: Finding,
    signature: str,
    versions: str,
    allowed: Sequence[float],
) -> str:
    """The script: it prints what is expected and what comes, and exits 1 while the bug lives.

    Args:
        program: the call and the way.
        finding: what the way shows.
        signature: the finding's name.
        versions: of the packages, in words.
        allowed: largest deviation of each output that rounding explains.
    """
    way, framework = program.way, program.framework
    lines = [program.function().rstrip(), "", way.lines]
    raises = finding.symptom == SILENT_ACCEPTANCE
    if finding.fails or raises:
        wanted = "an exception, as in the plain call" if raises else "what the plain call gives"
        decision = ScriptDecision(wanted, finding=finding)
    else:
        lines[2:2] = [way.expected]
        lines += [framework.arrays, framework.numbers, _SAME]
        rounded = [float(f"{number:.3g}") for number in allowed]
        same = f"len(actual) == len(expected) and all(map(same, actual, expected, {rounded}))"
        decision = ScriptDecision("expected = arrays(expected)", "arrays(actual)", f"not ({same})")
    imports = tuple(filter(None, program.imports.split("\n")))
    return ScriptProgram(imports, tuple(lines)).script(signature, versions, decision)
