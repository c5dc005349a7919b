"""The oracle over all models that have run: their findings, and counts of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from asterism.libraries.judging.finding import Finding
from asterism.libraries.judging.oracle import judge
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.running.record import Record
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
    """Judge every model of a record, one at a time.

    Args:
        graphs: the models.
        record: what they did.
        params: tolerances.
        seed: for the targets of D_MAD.
    """
    findings: list[Finding] = []
    apart: list[Finding] = []
    agreed = unresolved = 0
    for result in record.results(len(graphs)):
        verdict = judge(graphs[result.index], result, params, seed)
        findings += verdict.findings
        apart += verdict.apart
        agreed += verdict.agreed
        unresolved += verdict.unresolved
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
