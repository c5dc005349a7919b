"""What a finding depends on: the minimal model with one thing varied at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from asterism.libraries.library import CONVERTERS
from asterism.libraries.oracle import Finding
from asterism.libraries.routes import converter_of, under_test
from asterism.libraries.showing import Showing
from asterism.memo.graph import Graph


def ablate(
    show: Showing, graph: Graph, finding: Finding, draws: Sequence[str], routes: Sequence[str]
) -> dict[str, str]:
    """What was varied, and whether it still ``shows`` or is ``gone``; routes say their status too.

    Args:
        show: asks whether a model shows a finding.
        graph: the minimal model.
        finding: as it shows there.
        draws: inputs to try.
        routes: all that there are: optimisation levels, XLA, formats.
    """
    answers: dict[str, str] = {}
    for dtype in ("float32", "float64", "float16"):
        answers[f"dtype {dtype}"] = _word(show.finding(with_dtype(graph, dtype), finding))
    for draw in draws:
        answers[f"input {draw}"] = _word(show.finding(graph, replace(finding, draws=(draw,))))
    for converter, opset in _opsets(finding):
        answers[f"{converter} opset {opset}"] = _word(show.finding(graph, finding, opset=opset))
    wrong, result = show.everywhere(graph, finding, batch=1)
    answers["batch of 1"] = "shows" if wrong & set(finding.routes) else "gone"
    for route in under_test(routes):
        answers[route] = "shows" if route in wrong else result.outcomes[route].status
    return answers


def _opsets(finding: Finding) -> Iterator[tuple[str, int]]:
    """Versions of the file's format, where the finding's routes read one that has versions."""
    named = {r if r in CONVERTERS else converter_of(r) for r in finding.routes}
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


def _word(shown: Finding | None) -> str:
    return "shows" if shown is not None else "gone"
