"""Distinct findings on configurations just outside of what is valid, of one layer each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from asterism.differential.engine.inputs import OUTSIDE
from asterism.differential.engine.outside import Outside, outside_of
from asterism.differential.oracle.finding import SILENT_ACCEPTANCE, Finding
from asterism.differential.triage.groups import LayerAtFault
from asterism.differential.triage.unique import UniqueFinding
from asterism.memo.graphs.graph import Graph


def unique_outside(
    apart: Sequence[Finding],
    graphs: Sequence[Graph],
    seed: int,
    most: int,
    known: Collection[str] = (),
) -> list[UniqueFinding]:
    """One finding for each symptom, library, layer and parameter; those that kill come first.

    Args:
        apart: findings that stand apart; those of other kinds are passed over.
        graphs: the models of the run.
        seed: of the run.
        most: findings at most.
        known: signatures of earlier runs.
    """
    unique: dict[str, UniqueFinding] = {}
    for finding in sorted(apart, key=lambda f: (not f.deadly, f.symptom, f.library, f.model)):
        if finding.distributions != (OUTSIDE,):
            continue
        outside = outside_of(graphs[finding.model], seed, finding.model)
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


def _unique(finding: Finding, outside: Outside) -> UniqueFinding:
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
