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
from asterism.findings.calls.call import VARIANTS, Call, ExecutionVariant, variants_of
from asterism.findings.calls.campaign import CallOutcome, read_outcomes
from asterism.findings.calls.judging import judge_call, standards_of
from asterism.findings.calls.running import FILLS, CallProgram, CallWorkers
from asterism.findings.calls.table import calls_of
from asterism.findings.entry import COLLECTED_SYMPTOMS, CollectedFinding
from asterism.findings.occurrences import FindingOccurrence, deciding_facts

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


def all_call_occurrences(folder: Path, framework: str) -> list[FindingOccurrence[Call]]:
    """What the variants of a framework have shown, as their files in a folder say."""
    calls = calls_of(framework)
    return [
        occurrence
        for name in variants_of(framework)
        for occurrence in call_occurrences(calls, name, read_outcomes(folder, name))
    ]


def call_occurrences(
    calls: Mapping[str, Call], variant: str, outcomes: Iterable[CallOutcome]
) -> list[FindingOccurrence[Call]]:
    """What a variant has shown, with what decides, in the order of the calls."""
    by_name = {s.call: s for s in outcomes if s.call in calls}
    rows: dict[tuple[str, int], list[str]] = {}
    for name in by_name:
        key = calls[name].family, len(calls[name].inputs)
        rows.setdefault(key, []).append(name)
    found = []
    for name, one in by_name.items():
        if one.status not in COLLECTED_SYMPTOMS:
            continue
        call = calls[name]
        alike = [other for other in rows[call.family, len(call.inputs)] if other != name]
        right = [calls[other].facts for other in alike if by_name[other].status == RIGHT]
        found.append(call_occurrence(call, variant, one, deciding_facts(call.facts, right)))
    return found


def call_occurrence(
    call: Call, variant: str, outcome: CallOutcome, needed: Mapping[str, str]
) -> FindingOccurrence[Call]:
    """A call that shows a finding by a variant.

    Of one function and library a wrong result is one cause, whatever variant shows it, unless
    options decide that have nothing in common. Failures that say the same are one cause in all
    functions.

    Args:
        call: what was called.
        variant: by its name.
        outcome: what it showed.
        needed: facts that decide, and their values.
    """
    library, status = VARIANTS[variant].library, outcome.status
    options = frozenset(name for name in needed if " of " not in name)
    if status == ERROR:
        place = library, outcome.exception, outcome.frame, _words(outcome.details)
    elif status in (CRASH, HANG):
        place = library, status, outcome.exception, family_of(call.family)
    elif "outputs in place of" in outcome.details:
        place = library, "number of outputs", "", ""
    else:
        kind = SILENT_ACCEPTANCE if status == SILENT_ACCEPTANCE else "wrong"
        place = library, kind, family_of(call.family), ""
    rank = int(status not in DIFFERENCES), len(options), len(needed), len(call.expression)
    inputs = "empty" if call.is_empty else "normal"
    told = frozenset() if status in (ERROR, CRASH, HANG) else options
    entry = CollectedFinding.seen(
        "call", library, status, call.family, needed, inputs, backend=variant
    )
    return FindingOccurrence(call, entry, tuple(filter(None, place)), rank, told, outcome.details)


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

    def __call__(
        self, occurrence: FindingOccurrence[Call], folder: Path
    ) -> CollectedFinding | None:
        """The script of the call with the simplest inputs that show the symptom."""
        call, entry, params = occurrence.subject, occurrence.entry, self.workers.params
        variant, word = VARIANTS[entry.backends[0]], entry.symptom
        for fill in FILLS:
            program = CallProgram(call, variant, fill)
            plain = self.workers.plain(program)
            found = judge_call(program, plain, self.workers.indirect(program), params)
            if found.symptom == word:
                break
        else:
            return None
        versions = _versions(call, variant)
        said = ", ".join(f"{package} {version}" for package, version in versions.items())
        standards = standards_of(program, plain, params) if word in DIFFERENCES else ()
        allowed = [0.0 if s is None else max(map(np.max, s.allowed())) for s in standards]
        text = script_text(program, found, entry.signature, said, allowed)
        (folder / REPRO).write_text(text, encoding="utf-8")
        facts = {"call": call.name, "said": occurrence.details, "place": list(occurrence.place)}
        right = (f"{call.framework}:eager",)
        return replace(entry, right=right, versions=versions, finding=facts)


def _versions(call: Call, variant: ExecutionVariant) -> dict[str, str]:
    installed = installed_versions()
    own = installed_versions(call.framework)
    own.pop("keras", None)
    more = variant.packages
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
        program: the call and the variant.
        finding: what the variant shows.
        signature: the finding's name.
        versions: of the packages, in words.
        allowed: largest deviation of each output that rounding explains.
    """
    variant, framework = program.variant, program.framework
    lines = [program.function().rstrip(), "", variant.lines]
    raises = finding.symptom == SILENT_ACCEPTANCE
    if finding.fails or raises:
        wanted = "an exception, as in the plain call" if raises else "what the plain call gives"
        decision = ScriptDecision(wanted, finding=finding)
    else:
        lines[2:2] = [variant.expected]
        lines += [framework.arrays, framework.numbers, _SAME]
        rounded = [float(f"{number:.3g}") for number in allowed]
        same = f"len(actual) == len(expected) and all(map(same, actual, expected, {rounded}))"
        decision = ScriptDecision("expected = arrays(expected)", "arrays(actual)", f"not ({same})")
    imports = tuple(filter(None, program.imports.split("\n")))
    return ScriptProgram(imports, tuple(lines)).script(signature, versions, decision)
