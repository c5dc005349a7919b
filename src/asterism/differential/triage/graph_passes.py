"""Which graph pass a finding needs: each that changes the model is disabled in turn."""

from __future__ import annotations

from asterism.differential.adapters.library import CONVERTERS
from asterism.differential.oracle.finding import Finding
from asterism.differential.triage.reproduction import Reproduction
from asterism.memo.graphs.graph import Graph


def without_passes(show: Reproduction, graph: Graph, finding: Finding, most: int) -> dict[str, str]:
    """Whether the finding still ``shows`` without a pass, or is ``gone``, by ``without NAME``.

    A pass without which it is gone is the one at fault. Nothing is said of a finding that no
    backend of a library with such passes shows, nor where too few passes are allowed to be tried.

    Args:
        show: asks whether a model shows a finding.
        graph: the minimal model.
        finding: as it shows there.
        most: passes to disable at most.
    """
    backends = [b for b in finding.backends if b not in CONVERTERS]
    if not backends or not most:
        return {}
    task = show.task(finding.model, graph, finding.distributions[:1])
    passes = show.worker_pool.passes(task, backends[0])
    return {
        f"without {name}": show.look(graph, finding, disabled=(name,)).answer(finding.backends)
        for name in passes[:most]
    }
