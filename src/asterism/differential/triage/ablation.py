"""What a finding depends on: the minimal model with one thing varied at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from asterism.differential.adapters.backends import converter_of
from asterism.differential.adapters.library import CONVERTERS
from asterism.differential.oracle.finding import Finding
from asterism.differential.triage.reproduction import Reproduced, Reproduction
from asterism.memo.graphs.graph import Graph


def ablate(
    show: Reproduction,
    graph: Graph,
    finding: Finding,
    distributions: Sequence[str],
    passes: int = 0,
) -> dict[str, str]:
    """What was varied, and whether the finding still ``shows``, is ``gone`` or cannot be told.

    A graph pass without which it is gone is the one at fault.

    Args:
        show: asks whether a model shows a finding.
        graph: the minimal model.
        finding: as it shows there.
        distributions: inputs to try.
        passes: graph passes to disable at most, where the library has some that change the model.
    """
    varied: dict[str, Reproduced] = {}
    for dtype in ("float32", "float64", "float16"):
        varied[f"dtype {dtype}"] = show.look(with_dtype(graph, dtype), finding)
    for distribution in distributions:
        varied[f"input {distribution}"] = show.look(
            graph, replace(finding, distributions=(distribution,))
        )
    for converter, opset in _opsets(finding):
        varied[f"{converter} opset {opset}"] = show.look(graph, finding, opset=opset)
    varied["batch of 1"] = show.look(graph, finding, batch=1)
    backend = next((b for b in finding.backends if b not in CONVERTERS), None)
    if passes and backend is not None:
        task = show.task(finding.model, graph, finding.distributions[:1])
        for name in show.worker_pool.passes(task, backend)[:passes]:
            varied[f"without {name}"] = show.look(graph, finding, disabled=(name,))
    return {what: shown.answer(finding.backends) for what, shown in varied.items()}


def _opsets(finding: Finding) -> Iterator[tuple[str, int]]:
    """Versions of the file's format, where the finding's backends read one that has versions."""
    named = {r if r in CONVERTERS else converter_of(r) for r in finding.backends}
    for converter in sorted(c for c in named if c is not None):
        for opset in CONVERTERS[converter].opsets:
            yield converter, opset


def with_dtype(graph: Graph, dtype: str) -> Graph:
    """The graph with all floating layers and inputs in one dtype."""
    return Graph(
        {
            i: n
            if n.config.get("dtype") == "int32"
            else replace(n, config={**n.config, "dtype": dtype})
            for i, n in graph.nodes.items()
        }
    )
