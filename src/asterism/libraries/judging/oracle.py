"""The oracle: from outcomes and outputs to findings. It runs nothing.

A route is wrong about values when it lies outside the tolerance of every float64 reference while
a route of another library lies inside one: that witness shows that the dtype is enough, and the
odd one out is named. Where no witness exists, the disagreement is counted as unresolved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from asterism.core.randomness.random_streams import stream
from asterism.libraries.adapters.library import CONVERTERS
from asterism.libraries.adapters.routes import (
    PERTURBED,
    REFERENCES,
    converter_of,
    library_of,
    under_test,
)
from asterism.libraries.judging.compare import (
    DIFFERENCES,
    Difference,
    Tolerance,
    d_mad,
    first_difference,
    spread_of,
)
from asterism.libraries.judging.finding import KERAS, Finding
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.running.bench import Result
from asterism.libraries.running.inputs import SPECIAL_DRAWS, compared_nodes
from asterism.libraries.running.outcomes import Outcome
from asterism.memo.graphs.graph import Graph


@dataclass(frozen=True)
class Verdict:
    """What the oracle says about one model."""

    findings: tuple[Finding, ...]
    unresolved: int
    agreed: int


def judge(graph: Graph, result: Result, params: JudgeParams, seed: int) -> Verdict:
    """Findings of one model.

    Args:
        graph: the model.
        result: what all routes did with it.
        params: tolerances.
        seed: for the targets of D_MAD.
    """
    failures = _failures(graph, result)
    differing, unresolved, agreed = _value_findings(graph, result, params, seed)
    return Verdict((*failures, *differing), unresolved, agreed)


def _failures(graph: Graph, result: Result) -> list[Finding]:
    """Exceptions, crashes, hangs and memory, one finding for each library and frame.

    An exception is no library's fault where nothing runs the model. A process that died, hung or
    blew up always is one's.
    """
    failed = [result.outcomes[r] for r in under_test(result.outcomes) if result.outcomes[r].failed]
    fine = [r for r in result.outcomes if r != PERTURBED and _ran(result.outcomes[r])]
    found = []
    if not fine:
        failed = [o for o in failed if o.killed]
        refused = _refusals(result)
        if refused:
            found.append(replace(_failure("invalid model", refused, ()), draws=result.draws))
    grouped: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in failed:
        library = _refuser(outcome, fine)
        key = (library, outcome.status, outcome.stage, outcome.exception, outcome.frame)
        grouped.setdefault(key, []).append(outcome)
    found += [
        replace(
            _failure(_symptom(group[0]), group, tuple(fine)),
            library=key[0],
            severity=_severity(graph, result.draws),
            draws=result.draws,
        )
        for key, group in sorted(grouped.items())
    ]
    return found


def _ran(outcome: Outcome) -> bool:
    return outcome.status == "ok" and outcome.stage == "run"


def _refusals(result: Result) -> list[Outcome]:
    """Where Keras refuses to build a model that nothing runs: that it is invalid, or nothing.

    What reads like "not supported" says so too where every backend of Keras says it.
    """
    builders = [
        o
        for o in result.outcomes.values()
        if o.route not in CONVERTERS and converter_of(o.route) is None and o.status != "blocked"
    ]
    refused = [o for o in builders if o.stage == "build" and not o.killed]
    errors = [o for o in refused if o.failed]
    return errors or (refused if len(refused) == len(builders) else [])


def _severity(graph: Graph, draws: Iterable[str]) -> str:
    """``special`` where NaN, infinity or no items are in the inputs, or such weights."""
    special = any(node.is_special for node in graph.nodes.values())
    return "special" if special or set(draws) & set(SPECIAL_DRAWS) else "normal"


def _refuser(outcome: Outcome, fine: list[str]) -> str:
    """Whom to blame for a failure: the library, or the converter whose file it refuses.

    It is the converter where the same library takes another converter's file of the model.
    """
    library = library_of(outcome.route)
    if outcome.route in CONVERTERS or outcome.stage != "compile":
        return library
    source = converter_of(outcome.route)
    return source if source is not None and _reads_another(library, source, fine) else library


def _reads_another(library: str, source: str, right: Iterable[str]) -> bool:
    """Whether a library is right on another converter's file of the model."""
    return any(library_of(r) == library and converter_of(r) not in (source, None) for r in right)


def _symptom(outcome: Outcome) -> str:
    if outcome.status in ("hang", "memory"):
        return outcome.status
    return "converter crash" if outcome.stage == "convert" else "runtime crash"


def _failure(symptom: str, group: list[Outcome], witnesses: tuple[str, ...]) -> Finding:
    first = group[0]
    return Finding(
        first.model,
        symptom,
        first.stage,
        KERAS if symptom == "invalid model" else library_of(first.route),
        tuple(o.route for o in group),
        witnesses=witnesses,
        exception=first.exception,
        frame=first.frame,
        message=first.message,
    )


def tolerance_of(graph: Graph, params: JudgeParams) -> Tolerance:
    """The tolerance for a model."""
    return Tolerance(params.ulps, params.conditioning, graph.epsilon, graph.depth)


def differences(
    graph: Graph, result: Result, draw: str, params: JudgeParams, outputs: Iterable[int]
) -> dict[str, Difference | None]:
    """For each route that ran, its difference from the reference it is closest to.

    Empty where no reference ran.
    """
    dtypes = [graph.tensors[i].dtype for i in outputs]
    tolerance = tolerance_of(graph, params)
    moved = result.outputs.get(PERTURBED, {}).get(draw)
    references = [result.outputs[r][draw] for r in REFERENCES if r in result.outputs]
    base = result.outputs.get("pytorch:float64", {}).get(draw)
    spreads = spread_of(base, moved) if base is not None else None
    found: dict[str, Difference | None] = {}
    for route in under_test(result.outputs):
        each = [
            first_difference(
                result.outputs[route][draw],
                reference,
                dtypes,
                spreads or [0.0] * len(reference),
                tolerance,
            )
            for reference in references
        ]
        if each:
            found[route] = None if None in each else min(each, key=_distance)
    return found


def _distance(difference: Difference | None) -> tuple[int, float]:
    """How far off: by the kind of difference first, then by its size."""
    assert difference is not None
    return -DIFFERENCES.index(difference.kind), difference.excess


def _value_findings(
    graph: Graph, result: Result, params: JudgeParams, seed: int
) -> tuple[list[Finding], int, int]:
    draws = sorted({d for outputs in result.outputs.values() for d in outputs})
    findings: dict[tuple[str, str, str], Finding] = {}
    unresolved = agreed = 0
    for draw in draws:
        found = differences(graph, result, draw, params, compared_nodes(graph, (draw,)))
        right = sorted(r for r, d in found.items() if d is None)
        wrong = {r: d for r, d in found.items() if d is not None}
        agreed += len(right)
        severity = _severity(graph, (draw,))
        for library, routes in _blamed(wrong, right).items():
            witnesses = [r for r in right if library_of(r) != library]
            if not witnesses:
                unresolved += len(routes)
                continue
            worst = max(routes, key=lambda r: _distance(wrong[r]))
            difference = wrong[worst]
            others = (r for r in routes if r != worst)
            now = Finding(
                result.index,
                difference.kind,
                "run",
                library,
                (worst, *others),
                (draw,),
                tuple(witnesses),
                severity,
                excess=difference.excess,
                d_mad=_d_mad(result, draw, (worst, witnesses[0]), difference.output, seed),
            )
            key = (library, difference.kind, severity)
            findings[key] = _joined(findings[key], now) if key in findings else now
    return [findings[k] for k in sorted(findings)], unresolved, agreed


def _d_mad(result: Result, draw: str, routes: tuple[str, str], output: int, seed: int) -> float:
    """D_MAD of one output of two routes; 0 where they have other shapes, or one lacks it."""
    one, two = (result.outputs[r][draw][output : output + 1] for r in routes)
    if not (one and two and one[0].shape == two[0].shape):
        return 0.0
    target = stream(seed, "targets", result.index, draw).normal(size=one[0].shape)
    return round(d_mad(one[0], two[0], target), 6)


def _joined(before: Finding, now: Finding) -> Finding:
    """One finding of two draws: the worse draw's, which the other one shows too."""
    other, worse = sorted((now, before), key=lambda f: f.excess)
    return replace(
        worse,
        routes=tuple(dict.fromkeys((*worse.routes, *other.routes))),
        draws=(*worse.draws, *other.draws),
    )


def _blamed(wrong: dict[str, Difference], right: list[str]) -> dict[str, list[str]]:
    """Wrong routes by whom to blame: the library, or the converter whose readers are all wrong.

    One library's readers say so only where it is right on another converter's file.
    """
    blamed: dict[str, list[str]] = {}
    sources = {r: converter_of(r) for r in (*wrong, *right)}
    for route in sorted(wrong):
        source, culprit = sources[route], library_of(route)
        if source is not None:
            readers = [r for r in sources if sources[r] == source]
            libraries = {library_of(r) for r in readers}
            doubted = len(libraries) > 1 or _reads_another(culprit, source, right)
            host_right = any(library_of(r) == CONVERTERS[source].host for r in right)
            if doubted and host_right and all(r in wrong for r in readers):
                culprit = source
        blamed.setdefault(culprit, []).append(route)
    return blamed
