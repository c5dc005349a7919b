"""Which findings are certainly the same, and which to look into first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from asterism.differential.engine.inputs import OUTSIDE
from asterism.differential.engine.invalid_configurations import (
    InvalidConfiguration,
    draw_invalid_configuration,
)
from asterism.differential.oracle.finding import (
    INVALID_MODEL,
    ODD_REFERENCE,
    SILENT_ACCEPTANCE,
    Finding,
    defect_signature,
)
from asterism.differential.oracle.standard import (
    MASK_DIFFERS,
    VALUES_DIFFER,
    WRONG_DTYPE,
    WRONG_SHAPE,
)
from asterism.differential.shrinking.unique_finding import LayerAtFault, UniqueFinding
from asterism.memo.graphs.graph import Graph


def group_findings(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Groups of findings that are certainly the same, the most telling first.

    Failures are the same by their signature. Findings by values are only when their layer is
    known to be, so each model stands alone. Groups go round: the most telling one of each
    symptom and library, then the second ones.
    """
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: (f.model, f.library, f.symptom, f.backends)):
        own = str(finding.model) if finding.by_values else ""
        groups.setdefault((defect_signature(finding), finding.severity, own), []).append(finding)
    ranked = sorted(groups.values(), key=_rank)
    seen: Counter[tuple[str, str]] = Counter()
    rounds = []
    for group in ranked:
        kind = (group[0].symptom, group[0].library)
        rounds.append((seen[kind], group))
        seen[kind] += 1
    return [group for _, group in sorted(rounds, key=lambda item: item[0])]


def _rank(group: list[Finding]) -> tuple[bool, int, int, float, int]:
    """Ordinary inputs before special ones, then how much harm, how often, how far off."""
    first = group[0]
    return (
        first.severity == "special",
        _harm(first),
        -len(group),
        -max(f.excess for f in group),
        first.model,
    )


def _harm(finding: Finding) -> int:
    """A process that dies or a wrong result is worse than an exception; the dtype least of all."""
    if finding.deadly:
        return 0
    if finding.symptom in (WRONG_SHAPE, MASK_DIFFERS, VALUES_DIFFER):
        return 1
    return 3 if finding.symptom in (WRONG_DTYPE, INVALID_MODEL, ODD_REFERENCE) else 2


def unite_invalid_configurations(
    excluded: Sequence[Finding],
    graphs: Sequence[Graph],
    seed: int,
    most: int,
    known: Collection[str] = (),
) -> list[UniqueFinding]:
    """One finding for each symptom, library, layer and parameter; those that kill come first.

    Args:
        excluded: findings that are no wrong results; those of other kinds are passed over.
        graphs: the models of the run.
        seed: the seed of the run.
        most: findings at most.
        known: signatures of earlier runs.
    """
    unique: dict[str, UniqueFinding] = {}
    for finding in sorted(excluded, key=lambda f: (not f.deadly, f.symptom, f.library, f.model)):
        if finding.distributions != (OUTSIDE,):
            continue
        outside = draw_invalid_configuration(graphs[finding.model], seed, finding.model)
        if outside is None:
            continue
        found = _unique(finding, outside)
        if found.signature in known:
            continue
        if found.signature in unique:
            unique[found.signature].models.add(finding.model)
        elif len(unique) < most:
            unique[found.signature] = found
    return [unique[signature] for signature in sorted(unique)]


def _unique(finding: Finding, outside: InvalidConfiguration) -> UniqueFinding:
    kind = outside.graph.nodes[outside.graph.layers[0]].type
    names = ", ".join(sorted(outside.changed))
    place = f"{finding.exception} at {finding.frame}" if finding.frame else finding.exception
    parts = (finding.symptom, finding.library, f"{kind}({names})", place)
    said = finding.message.removeprefix(str(outside)).removeprefix(": ")
    return UniqueFinding(
        " | ".join(filter(None, parts)),
        replace(finding, message="" if finding.symptom == SILENT_ACCEPTANCE else said),
        outside.graph,
        LayerAtFault(kind, frozenset((n, str(v)) for n, v in outside.changed.items())),
        {finding.model},
        1,
        changed=outside.changed,
    )
