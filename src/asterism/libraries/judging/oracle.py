"""The oracle: from outcomes and outputs to findings. It runs nothing.

A backend is wrong about values when it lies outside the tolerance of every float64 reference that
the majority of references agrees with, while a backend of another library lies inside one: that
agreeing backend shows that the dtype is enough, and the odd one out is named. Where no agreeing
backend exists, the disagreement is counted as unresolved. A reference outside of the majority is a
finding of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from asterism.core.randomness.random_streams import stream
from asterism.libraries.adapters.backends import (
    ON_OTHER_INPUTS,
    PERTURBED,
    PERTURBED_FROM,
    PROBES,
    REFERENCES,
    converter_of,
    library_of,
    precision_of,
    product_of,
    under_test,
)
from asterism.libraries.adapters.library import CONVERTERS
from asterism.libraries.judging.apart import set_apart
from asterism.libraries.judging.compare import (
    DIFFERENCES,
    Difference,
    d_mad,
    first_difference,
    moved_of,
    spreads_by_rounding,
    tolerance_for,
)
from asterism.libraries.judging.finding import KERAS, ODD_REFERENCE, WRONG_BUFFERS, Finding
from asterism.libraries.judging.outside import judge_outside
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.judging.references import Vote, vote
from asterism.libraries.judging.special_values import Probes
from asterism.libraries.running.inputs import OUTSIDE, SPECIAL_DISTRIBUTIONS, compared_nodes
from asterism.libraries.running.outcomes import ExecutionOutcome
from asterism.libraries.running.outside import outside_of
from asterism.libraries.running.tasks import Result
from asterism.libraries.running.tolerance import Tolerance
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.special_weights import special_kinds


@dataclass(frozen=True)
class Verdict:
    """What the oracle says about one model.

    Args:
        findings: what went wrong.
        unresolved: outputs that differ, and nobody can tell who is right.
        agreed: outputs that are right.
        apart: differences that are no wrong results, see :mod:`.apart`.
    """

    findings: tuple[Finding, ...]
    unresolved: int
    agreed: int
    apart: tuple[Finding, ...] = ()


def judge(graph: Graph, result: Result, params: JudgeParams, seed: int) -> Verdict:
    """Findings of one model.

    Args:
        graph: the model.
        result: what all backends did with it.
        params: tolerances.
        seed: for the targets of D_MAD.
    """
    if OUTSIDE in result.distributions:
        tried = outside_of(graph, seed, result.index)
        return Verdict((), 0, 0, tuple(judge_outside(result, str(tried))))
    failures = _failures(graph, result)
    differing, unresolved, agreed, apart = _value_findings(graph, result, params, seed)
    return Verdict((*failures, *differing), unresolved, agreed, tuple(apart))


def _failures(graph: Graph, result: Result) -> list[Finding]:
    """Exceptions, crashes, hangs and memory, one finding for each library and frame.

    An exception is no library's fault where nothing runs the model. A process that died, hung or
    blew up always is one's.
    """
    failed = [result.outcomes[r] for r in under_test(result.outcomes) if result.outcomes[r].failed]
    fine = [r for r in result.outcomes if r not in ON_OTHER_INPUTS and result.outcomes[r].ran]
    found = []
    if not fine:
        failed = [o for o in failed if o.killed]
        rejected = _rejections(result)
        if rejected:
            found.append(
                replace(_failure("invalid model", rejected, ()), distributions=result.distributions)
            )
    grouped: dict[tuple[str, ...], list[ExecutionOutcome]] = {}
    for outcome in failed:
        library = _rejecter(outcome, fine)
        key = (library, outcome.status, outcome.stage, outcome.exception, outcome.frame)
        grouped.setdefault(key, []).append(outcome)
    found += [
        replace(
            _failure(_symptom(group[0]), group, tuple(fine)),
            library=key[0],
            severity=_severity(graph, result.distributions),
            distributions=result.distributions,
        )
        for key, group in sorted(grouped.items())
    ]
    return found


def _rejections(result: Result) -> list[ExecutionOutcome]:
    """Where Keras fails to build a model that nothing runs: that it is invalid, or nothing.

    What reads like "not supported" says so too where every backend of Keras says it.
    """
    builders = [
        o
        for o in result.outcomes.values()
        if o.backend not in CONVERTERS and converter_of(o.backend) is None and o.status != "blocked"
    ]
    rejected = [o for o in builders if o.stage == "build" and not o.killed]
    errors = [o for o in rejected if o.failed]
    return errors or (rejected if len(rejected) == len(builders) else [])


def _severity(graph: Graph, distributions: Iterable[str]) -> str:
    """``special`` where NaN, infinity or no items are in the inputs, or such weights."""
    special = any(node.is_special for node in graph.nodes.values())
    return "special" if special or set(distributions) & set(SPECIAL_DISTRIBUTIONS) else "normal"


def _rejecter(outcome: ExecutionOutcome, fine: list[str]) -> str:
    """Whom to blame for a failure: the library, or the converter whose file it rejects.

    It is the converter where the same library takes another converter's file of the model.
    """
    library = library_of(outcome.backend)
    if outcome.backend in CONVERTERS or outcome.stage != "compile":
        return library
    source = converter_of(outcome.backend)
    return source if source is not None and _reads_another(library, source, fine) else library


def _reads_another(library: str, source: str, right: Iterable[str]) -> bool:
    """Whether a library is right on another converter's file of the model."""
    return any(library_of(r) == library and converter_of(r) not in (source, None) for r in right)


def _symptom(outcome: ExecutionOutcome) -> str:
    if outcome.status in ("hang", "memory"):
        return outcome.status
    if outcome.exception.endswith(".WrongBuffersError"):
        return WRONG_BUFFERS
    return "converter crash" if outcome.stage == "convert" else "runtime crash"


def _failure(symptom: str, group: list[ExecutionOutcome], agreeing: tuple[str, ...]) -> Finding:
    first = group[0]
    return Finding(
        first.model,
        symptom,
        first.stage,
        KERAS if symptom == "invalid model" else library_of(first.backend),
        tuple(o.backend for o in group),
        agreeing=agreeing,
        exception=first.exception,
        frame=first.frame,
        message=first.message,
    )


def tolerance_of(graph: Graph, params: JudgeParams) -> Tolerance:
    """The tolerance for a model."""
    return Tolerance(params.ulps, params.conditioning, graph.epsilon, graph.depth)


def vote_of(
    graph: Graph, result: Result, distribution: str, params: JudgeParams, outputs: Iterable[int]
) -> Vote:
    """What the references say about a model's outputs, or about some of its nodes."""
    given = {r: result.outputs[r][distribution] for r in REFERENCES if r in result.outputs}
    tolerance = tolerance_of(graph, params)
    spread = spreads_of(result, distribution, tolerance) or [0.0] * len(list(outputs))
    return vote(given, spread, tolerance, probes_of(graph, result, distribution))


def differences(
    graph: Graph,
    result: Result,
    distribution: str,
    params: JudgeParams,
    outputs: Iterable[int],
    *,
    strictly: bool = False,
) -> dict[str, Difference | None]:
    """For each backend that ran, its difference from the closest reference that is right.

    References outside of the majority are among the backends. Empty where no reference ran.
    What nothing decides where inputs are special is passed over, but ``strictly``.
    """
    nodes = list(outputs)
    dtypes = [graph.tensors[i].dtype for i in nodes]
    tolerance = tolerance_of(graph, params)
    said = vote_of(graph, result, distribution, params, nodes)
    references = {r: result.outputs[r][distribution] for r in said.right}
    probes = None if strictly else probes_of(graph, result, distribution)
    backends = (*under_test(result.outputs), *said.odd)
    tolerances = {backend: tolerance_for(backend, tolerance) for backend in backends}
    spreads = {t: spreads_of(result, distribution, t) for t in set(tolerances.values())}
    found: dict[str, Difference | None] = {}
    for backend, allowed in tolerances.items():
        given, spread = result.outputs[backend][distribution], spreads[allowed]
        own = [str(array.dtype) for array in given] if backend in said.odd else dtypes
        each = [
            first_difference(
                given, reference, own, spread or [0.0] * len(reference), allowed, probes
            )
            for reference in references.values()
        ]
        if each:
            found[backend] = None if None in each else min(each, key=_distance)
    return found


def probes_of(graph: Graph, result: Result, distribution: str) -> Probes | None:
    """The probes of special inputs or weights; None where there is no special number."""
    of_weights = {*special_kinds(graph), *result.special}
    return Probes.of(result.outputs, PROBES, distribution, of_weights)


def spreads_of(result: Result, distribution: str, tolerance: Tolerance) -> list[float] | None:
    """How far rounding alone moves each output; None where that was not measured."""
    base = result.outputs.get(PERTURBED_FROM, {}).get(distribution)
    moved = moved_of(result.outputs, PERTURBED, distribution)
    return spreads_by_rounding(base, moved, tolerance.epsilon) if base is not None else None


def _distance(difference: Difference | None) -> tuple[int, float]:
    """How far off: by the kind of difference first, then by its size."""
    assert difference is not None
    return -DIFFERENCES.index(difference.kind), difference.excess


def _value_findings(
    graph: Graph, result: Result, params: JudgeParams, seed: int
) -> tuple[list[Finding], int, int, list[Finding]]:
    distributions = sorted({d for outputs in result.outputs.values() for d in outputs})
    findings: dict[tuple[str, str, str], Finding] = {}
    unresolved = agreed = 0
    apart: list[Finding] = []
    for distribution in distributions:
        nodes = compared_nodes(graph, (distribution,))
        found = differences(graph, result, distribution, params, nodes)
        told = found
        if probes_of(graph, result, distribution) is not None:
            told = differences(graph, result, distribution, params, nodes, strictly=True)
        said, found = set_apart(result, distribution, found, told)
        apart += [replace(f, severity=_severity(graph, (distribution,))) for f in said]
        odd = {r: d for r, d in found.items() if r in REFERENCES and d is not None}
        for finding in _odd_references(graph, result, distribution, params, odd):
            key = (finding.library, finding.symptom, finding.severity)
            findings[key] = _joined(findings[key], finding) if key in findings else finding
        right = sorted(r for r, d in found.items() if d is None and r not in REFERENCES)
        wrong = {r: d for r, d in found.items() if d is not None and r not in REFERENCES}
        agreed += len(right)
        severity = _severity(graph, (distribution,))
        for library, backends in _blamed(wrong, right).items():
            others = (r for r in right if library_of(r) != library)
            agreeing = [r for r in others if precision_of(r) is None]
            if not agreeing:
                unresolved += len(backends)
                continue
            worst = max(backends, key=lambda r: _distance(wrong[r]))
            difference = wrong[worst]
            rest = (r for r in backends if r != worst)
            now = Finding(
                result.index,
                difference.kind,
                "run",
                library,
                (worst, *rest),
                (distribution,),
                tuple(agreeing),
                severity,
                excess=difference.excess,
                d_mad=_d_mad(result, distribution, (worst, agreeing[0]), difference.output, seed),
            )
            key = (library, difference.kind, severity)
            findings[key] = _joined(findings[key], now) if key in findings else now
    return [findings[k] for k in sorted(findings)], unresolved, agreed, apart


def _odd_references(
    graph: Graph,
    result: Result,
    distribution: str,
    params: JudgeParams,
    odd: dict[str, Difference],
) -> list[Finding]:
    """One finding for each reference outside of the majority, which names it."""
    if not odd:
        return []
    nodes = compared_nodes(graph, (distribution,))
    said = vote_of(graph, result, distribution, params, nodes)
    return [
        Finding(
            result.index,
            ODD_REFERENCE,
            "run",
            library_of(reference),
            (reference,),
            (distribution,),
            said.right,
            _severity(graph, (distribution,)),
            excess=difference.excess,
        )
        for reference, difference in odd.items()
    ]


def _d_mad(
    result: Result, distribution: str, backends: tuple[str, str], output: int, seed: int
) -> float:
    """D_MAD of one output of two backends; 0 where they have other shapes, or one lacks it."""
    one, two = (result.outputs[r][distribution][output : output + 1] for r in backends)
    if not (one and two and one[0].shape == two[0].shape):
        return 0.0
    target = stream(seed, "targets", result.index, distribution).normal(size=one[0].shape)
    return round(d_mad(one[0], two[0], target), 6)


def _joined(before: Finding, now: Finding) -> Finding:
    """One finding of two distributions: the worse distribution's, which the other one shows too."""
    other, worse = sorted((now, before), key=lambda f: f.excess)
    return replace(
        worse,
        backends=tuple(dict.fromkeys((*worse.backends, *other.backends))),
        distributions=(*worse.distributions, *other.distributions),
    )


def _blamed(wrong: dict[str, Difference], right: list[str]) -> dict[str, list[str]]:
    """Wrong backends by whom to blame: the library, or the converter whose readers are all wrong.

    One library's readers say so only where it is right on another converter's file.
    """
    blamed: dict[str, list[str]] = {}
    sources = {r: converter_of(r) for r in (*wrong, *right)}
    for backend in sorted(wrong):
        source, culprit = sources[backend], library_of(backend)
        if source is not None:
            readers = [r for r in sources if sources[r] == source]
            libraries = {product_of(library_of(r)) for r in readers}  # versions share their faults
            doubted = len(libraries) > 1 or _reads_another(culprit, source, right)
            host_right = any(library_of(r) == CONVERTERS[source].host for r in right)
            if doubted and host_right and all(r in wrong for r in readers):
                culprit = source
        blamed.setdefault(culprit, []).append(backend)
    return blamed
