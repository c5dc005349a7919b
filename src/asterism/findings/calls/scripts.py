"""The script of a call that goes wrong: it shows it, and decides by its exit status."""

from __future__ import annotations

from collections.abc import Sequence

from asterism.differential.oracle.finding import SILENT_ACCEPTANCE, Finding
from asterism.differential.report.decisions import ScriptDecision
from asterism.differential.report.program_text import ScriptProgram
from asterism.findings.calls.program import CallProgram

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
