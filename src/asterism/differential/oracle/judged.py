"""The oracle over all models that have run: their findings, and counts of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from asterism.differential.engine.record import Record
from asterism.differential.oracle.finding import Finding
from asterism.differential.oracle.history import Histories
from asterism.differential.oracle.oracle import judge
from asterism.differential.oracle.params import JudgeParams
from asterism.memo.graphs.graph import Graph


@dataclass(frozen=True)
class Judged:
    """What the oracle says about many models.

    Args:
        findings: of all models, in their order.
        apart: differences that are no wrong results, likewise.
        metrics: counts, as a JSON value.
    """

    findings: list[Finding]
    apart: list[Finding]
    metrics: dict[str, Any]


def judge_all(graphs: Sequence[Graph], record: Record, params: JudgeParams, seed: int) -> Judged:
    """Judge every model of a record, one at a time. Findings say what their worker ran before.

    Args:
        graphs: the models.
        record: what they did.
        params: tolerances.
        seed: for the targets of D_MAD.
    """
    findings: list[Finding] = []
    apart: list[Finding] = []
    agreed = unresolved = 0
    histories = Histories()
    for result in record.results(len(graphs)):
        verdict = judge(graphs[result.index], result, params, seed)
        findings += [_after(finding, histories) for finding in verdict.findings]
        apart += [_after(finding, histories) for finding in verdict.apart]
        agreed += verdict.agreed
        unresolved += verdict.unresolved
        histories.add(result)
    # A model is one, however many groups of inputs it was rejected with.
    invalid = len({f.model for f in findings if f.symptom == "invalid model"})
    metrics = {
        "findings": len(findings),
        "agreements": agreed,
        "unresolved": unresolved,
        "invalid_models": invalid,
        "invalid_rate": invalid / max(len(graphs), 1),
        "by_symptom": dict(sorted(Counter(f.symptom for f in findings).items())),
        "apart": dict(sorted(Counter(f.symptom for f in apart).items())),
    }
    return Judged(findings, apart, metrics)


def _after(finding: Finding, histories: Histories) -> Finding:
    return replace(finding, before=histories.before(finding.backends[0]))
