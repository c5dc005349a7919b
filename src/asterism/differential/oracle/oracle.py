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
from asterism.differential.adapters.backends import (
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
from asterism.differential.adapters.library import CONVERTERS
from asterism.differential.engine.inputs import OUTSIDE, SPECIAL_DISTRIBUTIONS, compared_nodes
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.outside import outside_of
from asterism.differential.engine.tasks import Result
from asterism.differential.engine.tolerance import Tolerance
from asterism.differential.oracle.compare import d_mad, distance, moved_of
from asterism.differential.oracle.finding import (
    APART,
    INVALID_MODEL,
    KERAS,
    ODD_REFERENCE,
    RIGHT,
    SPECIAL_VALUES,
    Finding,
)
from asterism.differential.oracle.judge import failure, judge_backend
from asterism.differential.oracle.outside import judge_outside
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.oracle.special_values import Probes
from asterism.differential.oracle.standard import Standard
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
        if rejected := _rejections(result):
            backends = tuple(o.backend for o in rejected)
            facts = {"symptom": INVALID_MODEL, "library": KERAS, "backends": backends}
            found.append(replace(failure(rejected[0]), **facts))  # type: ignore[arg-type]
    grouped: dict[tuple[str, ...], list[ExecutionOutcome]] = {}
    for outcome in failed:
        library = _rejecter(outcome, fine)
        key = (library, outcome.status, outcome.stage, outcome.exception, outcome.frame)
        grouped.setdefault(key, []).append(outcome)
    severity = _severity(graph, result.distributions)
    for (library, *_), group in sorted(grouped.items()):
        one = replace(failure(group[0]), library=library, severity=severity, agreeing=tuple(fine))
        found.append(replace(one, backends=tuple(o.backend for o in group)))
    return [replace(one, distributions=result.distributions) for one in found]


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


def standard_of(
    graph: Graph,
    result: Result,
    distribution: str,
    params: JudgeParams,
    outputs: Iterable[int] | None = None,
) -> Standard | None:
    """What is right of a model's outputs by the majority of references; None where none ran.

    Args:
        graph: the model.
        result: what all backends did with it.
        distribution: the inputs.
        params: tolerances.
        outputs: nodes that were put out, in place of those that are compared.
    """
    given = {r: result.outputs[r][distribution] for r in REFERENCES if r in result.outputs}
    if not given:
        return None
    nodes = compared_nodes(graph, (distribution,)) if outputs is None else outputs
    of_weights = {*special_kinds(graph), *result.special}
    return Standard(
        given,
        [graph.tensors[i].dtype for i in nodes],
        Tolerance(params.ulps, params.conditioning, graph.epsilon, graph.depth),
        result.outputs.get(PERTURBED_FROM, {}).get(distribution),
        moved_of(result.outputs, PERTURBED, distribution),
        Probes.of(result.outputs, PROBES, distribution, of_weights),
    ).by_majority()


def _value_findings(
    graph: Graph, result: Result, params: JudgeParams, seed: int
) -> tuple[list[Finding], int, int, list[Finding]]:
    distributions = sorted({d for outputs in result.outputs.values() for d in outputs})
    findings: dict[tuple[str, str, str], Finding] = {}
    unresolved = agreed = 0
    apart: list[Finding] = []
    for distribution in distributions:
        standard = standard_of(graph, result, distribution, params)
        if standard is None:
            continue
        severity = _severity(graph, (distribution,))
        found = {
            b: replace(judge_backend(result, distribution, standard, b), severity=severity)
            for b in under_test(result.outputs)
        }
        apart += [one for one in found.values() if one.symptom in APART]
        right = sorted(b for b, one in found.items() if one.symptom in (RIGHT, SPECIAL_VALUES))
        wrong = {b: one for b, one in found.items() if one.by_values}
        named = _odd_references(result, distribution, standard)
        for library, backends in _blamed(wrong, right).items():
            others = (r for r in right if library_of(r) != library)
            agreeing = [r for r in others if precision_of(r) is None]
            if not agreeing:
                unresolved += len(backends)
                continue
            worst = max(backends, key=lambda b: distance(wrong[b].symptom, wrong[b].excess))
            named.append(
                replace(
                    wrong[worst],
                    library=library,
                    backends=(worst, *(b for b in backends if b != worst)),
                    agreeing=tuple(agreeing),
                    d_mad=_d_mad(result, distribution, standard, (worst, agreeing[0]), seed),
                )
            )
        agreed += len(right)
        for one in named:
            now = replace(one, severity=severity)
            known = findings.get((now.library, now.symptom, severity))
            joined = now if known is None else _joined(known, now)
            findings[now.library, now.symptom, severity] = joined
    return [findings[k] for k in sorted(findings)], unresolved, agreed, apart


def _odd_references(result: Result, distribution: str, standard: Standard) -> list[Finding]:
    """One finding for each reference outside of the majority, which names it."""
    found = []
    for odd in (r for r in REFERENCES if r in result.outputs and r not in standard.references):
        difference = standard.off(result.outputs[odd][distribution], odd)
        if difference is not None:
            facts = result.index, ODD_REFERENCE, "run", library_of(odd), (odd,), (distribution,)
            agreeing = tuple(standard.references)
            found.append(Finding(*facts, agreeing, excess=difference.excess))
    return found


def _d_mad(
    result: Result, distribution: str, standard: Standard, backends: tuple[str, str], seed: int
) -> float:
    """D_MAD of the worst output of two backends; 0 of other shapes, or where one lacks it."""
    worst = standard.off(result.outputs[backends[0]][distribution], backends[0])
    assert worst is not None
    at = slice(worst.output, worst.output + 1)
    one, two = (result.outputs[b][distribution][at] for b in backends)
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


def _blamed(wrong: dict[str, Finding], right: list[str]) -> dict[str, list[str]]:
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
