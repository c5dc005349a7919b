"""Which findings are certainly the same, and which to look into first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from asterism.differential.oracle.finding import ODD_REFERENCE, Finding, signature
from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.spec import universe


@dataclass(frozen=True)
class LayerAtFault:
    """A layer with those of its parameters that are words or switches off their defaults.

    Numbers are left out: a defect seldom depends on one, and they would make one defect many.
    """

    type: str
    parameters: frozenset[tuple[str, str]]

    def __str__(self) -> str:
        named = ", ".join(f"{name}={value}" for name, value in sorted(self.parameters))
        return f"{self.type}({named})"

    def explains(self, other: LayerAtFault) -> bool:
        """Whether what goes wrong here goes wrong there: there, no less is off its default."""
        return self.type == other.type and self.parameters <= other.parameters


def layer_at_fault(graph: Graph, identity: int) -> LayerAtFault:
    """A node of a graph as part of a signature."""
    node = graph.nodes[identity]
    defaults = universe()[node.type].defaults() if node.type in universe() else {}
    return LayerAtFault(
        node.type,
        frozenset(
            (name, str(node.config[name]))
            for name, default in defaults.items()
            if name in node.config
            and node.config[name] != default
            and isinstance(node.config[name], str | bool)
        ),
    )


def in_order(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Groups of findings that are certainly the same, the most telling first.

    Failures are the same by their signature. Findings by values are only when their layer is
    known to be, so each model stands alone. Groups go round: the most telling one of each
    symptom and library, then the second ones.
    """
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: (f.model, f.library, f.symptom, f.backends)):
        own = str(finding.model) if finding.by_values else ""
        groups.setdefault((signature(finding), finding.severity, own), []).append(finding)
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
    if finding.symptom in ("wrong shape", "NaN/Inf mask differs", "values differ"):
        return 1
    return 3 if finding.symptom in ("wrong dtype", "invalid model", ODD_REFERENCE) else 2
