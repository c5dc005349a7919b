"""The oracle of generated models: from outcomes and outputs to findings. It runs nothing.

What each backend does :mod:`.judge` says. Here, one finding is made for each library that is to
blame, and a reference outside of the majority of references is a finding of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asterism.core.random_streams import stream
from asterism.differential.adapters.backend_names import (
    OF_GRAPHS,
    REFERENCES,
    converter_of,
    library_of,
)
from asterism.differential.adapters.library import CONVERTERS
from asterism.differential.engine.inputs import OUTSIDE, SPECIAL_DISTRIBUTIONS, compared_nodes
from asterism.differential.engine.invalid_configurations import draw_invalid_configuration
from asterism.differential.engine.record import ExecutionRecord
from asterism.differential.engine.tasks import ExecutionOutcome, Result
from asterism.differential.oracle.finding import (
    EXCLUDED,
    FAILURES,
    INVALID_MODEL,
    KERAS,
    ODD_REFERENCE,
    RIGHT,
    SPECIAL_VALUES,
    UNRESOLVED,
    EarlierModel,
    Finding,
)
from asterism.differential.oracle.invalid_configurations import judge_invalid_configuration
from asterism.differential.oracle.judge import Judge, failure
from asterism.differential.oracle.standard import ReferenceOutputs, d_mad, distance
from asterism.differential.params import JudgeParams
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.weights import special_kinds


@dataclass
class Judgement:
    """What the oracle says about models.

    Args:
        findings: what went wrong.
        excluded: differences that are no wrong results.
        unresolved: how many outputs differ, and nobody can tell who is right.
        agreed: how many outputs are right.
    """

    findings: list[Finding]
    excluded: list[Finding]
    unresolved: int = 0
    agreed: int = 0


def judge(graph: Graph, result: Result, params: JudgeParams, seed: int) -> Judgement:
    """Findings of one model.

    Args:
        graph: the model.
        result: what all backends did with it.
        params: tolerances.
        seed: for the targets of D_MAD.
    """
    if OUTSIDE in result.distributions:
        invalid = draw_invalid_configuration(graph, seed, result.index)
        assert invalid is not None  # or there was nothing to try
        return Judgement([], judge_invalid_configuration(result, invalid, params))
    distributions = sorted({d for outputs in result.outputs.values() for d in outputs})
    judges = [judge_of(graph, result, d, params) for d in distributions or [""]]
    judgements = [(judge, judge.findings()) for judge in judges]
    failures = _failures(graph, result, judgements[0][1])
    excluded: list[Finding] = []
    differing: dict[tuple[str, str, str], Finding] = {}
    symptoms: Counter[str] = Counter()
    for judge, findings in ((judge, findings) for judge, findings in judgements if judge.is_known):
        severity = _severity(graph, (judge.distribution,))
        findings = [replace(finding, severity=severity) for finding in findings]
        symptoms.update(finding.symptom for finding in findings)
        excluded += [finding for finding in findings if finding.symptom in EXCLUDED]
        for finding in [*_odd_references(judge), *_differences(judge, findings, seed)]:
            now = replace(finding, severity=severity)
            known = differing.get((now.library, now.symptom, severity))
            joined = now if known is None else _joined(known, now)
            differing[now.library, now.symptom, severity] = joined
    findings = [*failures, *(differing[k] for k in sorted(differing))]
    agreed = symptoms[RIGHT] + symptoms[SPECIAL_VALUES]
    return Judgement(findings, excluded, symptoms[UNRESOLVED], agreed)


def _failures(graph: Graph, result: Result, judged: Iterable[Finding]) -> list[Finding]:
    """Exceptions, crashes, hangs and memory, one finding for each library and frame."""
    failures = []
    others = OF_GRAPHS.on_other_inputs
    ran = [r for r in result.outcomes if r not in others and result.outcomes[r].ran]
    if not ran and (rejected := _rejections(result)):
        backends = tuple(o.backend for o in rejected)
        facts = {"symptom": INVALID_MODEL, "library": KERAS, "backends": backends}
        failures.append(replace(failure(rejected[0]), **facts))  # type: ignore[arg-type]
    grouped: dict[tuple[str, ...], list[Finding]] = {}
    for finding in judged:
        if finding.symptom in FAILURES and result.outcomes[finding.backends[0]].failed:
            key = (
                finding.library,
                finding.symptom,
                finding.stage,
                finding.exception,
                finding.frame,
            )
            grouped.setdefault(key, []).append(finding)
    severity = _severity(graph, result.distributions)
    for _, group in sorted(grouped.items()):
        backends = tuple(finding.backends[0] for finding in group)
        failures.append(
            replace(group[0], backends=backends, severity=severity, agreeing=tuple(ran))
        )
    return [replace(finding, distributions=result.distributions) for finding in failures]


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


def judge_of(
    graph: Graph,
    result: Result,
    distribution: str,
    params: JudgeParams,
    outputs: Iterable[int] | None = None,
) -> Judge:
    """The judge of a generated model, by the majority of references.

    Args:
        graph: the model.
        result: what all backends did with it.
        distribution: the inputs.
        params: tolerances.
        outputs: nodes that were put out, in place of those that are compared.
    """
    bounds = params.tolerance(graph.epsilon, graph.depth)
    nodes = compared_nodes(graph, (distribution,)) if outputs is None else outputs
    dtypes = [graph.tensors[i].dtype for i in nodes]
    standard = ReferenceOutputs.of(
        result.outputs,
        distribution,
        OF_GRAPHS,
        dtypes,
        bounds,
        of_weights={*special_kinds(graph), *result.special},
    )
    if standard is not None:
        standard = standard.by_majority()
    return Judge(result, distribution, bounds, standard)


def _differences(judge: Judge, findings: Iterable[Finding], seed: int) -> Iterator[Finding]:
    """One finding for each library that is to blame for values, of the backend farthest off."""
    blamed: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.by_values:
            blamed.setdefault(finding.library, []).append(finding)
    for library in sorted(blamed):
        wrong = sorted(blamed[library], key=lambda finding: finding.backends)
        worst = max(wrong, key=lambda finding: distance(finding.symptom, finding.excess))
        others = (finding.backends[0] for finding in wrong if finding is not worst)
        backends, agreeing = (worst.backends[0], *others), tuple(sorted(worst.agreeing))
        value = _d_mad(judge, backends[0], agreeing[0], seed)
        yield replace(worst, backends=backends, agreeing=agreeing, d_mad=value)


def _odd_references(judge: Judge) -> Iterator[Finding]:
    """One finding for each reference outside of the majority, which names it."""
    result, distribution, standard = judge.result, judge.distribution, judge.standard
    assert standard is not None
    for odd in (r for r in REFERENCES if r in result.outputs and r not in standard.references):
        difference = standard.off(result.outputs[odd][distribution], odd)
        if difference is not None:
            yield Finding(
                model=result.index,
                symptom=ODD_REFERENCE,
                stage="run",
                library=library_of(odd),
                backends=(odd,),
                distributions=(distribution,),
                agreeing=tuple(standard.references),
                excess=difference.excess,
            )


def _d_mad(judge: Judge, backend: str, agreeing: str, seed: int) -> float:
    """D_MAD of the worst output of two backends; 0 of other shapes, or where one lacks it."""
    result, distribution = judge.result, judge.distribution
    outputs = [result.outputs[b][distribution] for b in (backend, agreeing)]
    assert judge.standard is not None
    worst = judge.standard.off(outputs[0], backend)
    assert worst is not None
    one, two = (arrays[worst.output : worst.output + 1] for arrays in outputs)
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


#: Models of a worker that are remembered, the latest ones.
REMEMBERED = 32


def judge_all(
    graphs: Sequence[Graph], record: ExecutionRecord, params: JudgeParams, seed: int
) -> Judgement:
    """Judge every model of a record, one at a time. Findings say what their worker ran before.

    Args:
        graphs: the models.
        record: what they did.
        params: tolerances.
        seed: for the targets of D_MAD.
    """
    total = Judgement([], [])
    histories = Histories()
    for result in record.results(len(graphs)):
        judgement = judge(graphs[result.index], result, params, seed)
        for kept, findings in (
            (total.findings, judgement.findings),
            (total.excluded, judgement.excluded),
        ):
            kept += [replace(f, before=histories.before(f.backends[0])) for f in findings]
        total.agreed += judgement.agreed
        total.unresolved += judgement.unresolved
        histories.add(result)
    return total


def metrics_of(judgement: Judgement, models: int) -> dict[str, Any]:
    """Counts of what the oracle says about so many models, as a JSON value."""
    # A model is one, however many groups of inputs it was rejected with.
    invalid = len({f.model for f in judgement.findings if f.symptom == INVALID_MODEL})
    return {
        "findings": len(judgement.findings),
        "agreements": judgement.agreed,
        "unresolved": judgement.unresolved,
        "invalid_models": invalid,
        "invalid_rate": invalid / max(models, 1),
        "by_symptom": dict(sorted(Counter(f.symptom for f in judgement.findings).items())),
        "apart": dict(sorted(Counter(f.symptom for f in judgement.excluded).items())),
    }


class Histories:
    """What every worker has run since its process began, as the results of a run follow.

    Results come in the order in which the workers got their models. A run that was interrupted,
    or whose parts several processes shared, began more processes than that: then this is more
    than the worker had.
    """

    def __init__(self) -> None:
        self._ran: dict[str, list[EarlierModel]] = {}

    def before(self, backend: str) -> tuple[EarlierModel, ...]:
        """The models before the next one, in the worker of a backend or a converter."""
        return tuple(self._ran.get(library_of(backend), ()))

    def add(self, result: Result) -> None:
        """Record that a model has run; a worker that died of it starts with an empty history."""
        died: dict[str, bool] = {}
        for backend, outcome in result.outcomes.items():
            if outcome.status != "blocked":  # or its worker was asked nothing
                worker = library_of(backend)
                died[worker] = died.get(worker, False) or outcome.killed
        now = EarlierModel(result.index, result.distributions)
        for worker, gone in died.items():
            self._ran[worker] = [] if gone else [*self._ran.get(worker, []), now][-REMEMBERED:]
