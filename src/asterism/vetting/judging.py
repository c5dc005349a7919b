"""Judging a repaired file on inputs that its repair has not seen, and by a new search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.randomness.random_streams import stream
from asterism.dflare.outcome import Findings
from asterism.models.tensor_models.subjects import Subject
from asterism.vetting.agreement import measure_agreement
from asterism.vetting.changes import measure_flips
from asterism.vetting.opening import Vetted, beside
from asterism.vetting.params import VetParams
from asterism.vetting.searching import search_rows
from asterism.vetting.statistics import Share, share_of
from asterism.vetting.symptoms import symptoms_of
from asterism.vetting.verdict import criteria_of


def judge(
    vetted: Vetted, path: Path | Subject, unseen: NDArray[np.int64], seed: int
) -> dict[str, Any]:
    """How a repaired model does where its repair has not looked.

    The new search starts from unseen inputs, with other random numbers than the first, and from
    half as many seeds. It runs twice from the same seeds: against the compressed model, whose
    triggering inputs the repaired file is then asked about, and against the repaired file.

    Args:
        vetted: the compressed model's pair.
        path: the repaired file, or the model.
        unseen: rows of the inputs that the repair has not seen, int64, ascending.
        seed: the run's seed.

    Returns:
        ``gone_held_out``: of the deviations on unseen inputs and of the new search; ``agreement``
        of the repaired file and ``differ_before`` of the compressed model on unseen inputs;
        ``flips`` of the repaired file; ``new_search``: shares of seeds with a triggering input,
        ``before`` and ``after`` the repair; ``criteria`` of the verdict.
    """
    params, confidence = vetted.params, vetted.params.confidence
    again = int(stream(seed, "vet", "judging").integers(2**31))
    seeds = max(1, params.search.seeds // 2)
    before = search_rows(vetted, unseen, seeds, again)
    found = [trigger.item for findings in before.values() for trigger in findings.triggers]
    formerly = vetted.deviates
    deviating = vetted.inputs.items[unseen[formerly[unseen]]]
    held_out = np.concatenate([deviating, np.stack(found)]) if found else deviating
    with beside(vetted, path) as repaired:
        own = repaired.answers.f[unseen], repaired.answers.g[unseen]
        answers = repaired.pair.ask(held_out)
        still = repaired.comparison.deviates(answers.f, answers.g)
        agreement = measure_agreement(
            *own,
            repaired.comparison,
            None if vetted.inputs.labels is None else vetted.inputs.labels[unseen],
            confidence,
        )
        agreed = np.intersect1d(unseen, repaired.agreed)
        broken = symptoms_of(*own, repaired.shapes)
        flips = measure_flips(_without_bounds(repaired), agreed, seed)
        after = search_rows(repaired, unseen, seeds, again)
    slight = [flip.share for flip in flips if flip.strength == params.changes.slight]
    criteria = criteria_of(
        agreement, broken, next(iter(slight), None), params.thresholds, confidence
    )
    differed = int(formerly[unseen].sum())
    return {
        "gone_held_out": share_of(int((~still).sum()), len(still), confidence).to_json(),
        "differ_before": share_of(differed, len(unseen), confidence).to_json(),
        "agreement": agreement.to_json(),
        "agreement_fell": agreement.differ.count > differed,
        "flips": [flip.to_json() for flip in flips],
        "new_search": {
            name: {
                "before": _succeeded(before[name], confidence).to_json(),
                "after": _succeeded(after[name], confidence).to_json(),
            }
            for name in before
        },
        "criteria": [criterion.to_json() for criterion in criteria],
    }


def _without_bounds(vetted: Vetted) -> Vetted:
    """The verdict looks at a strength; bounds would only be measured again."""
    changes = vetted.params.changes.model_copy(update={"bounds": []})
    params: VetParams = vetted.params.model_copy(update={"changes": changes})
    return replace(vetted, params=params)


def _succeeded(findings: Findings, confidence: float) -> Share:
    """The share of seeds from which a triggering input was found."""
    seeds = {trigger.seed for trigger in findings.triggers}
    return share_of(len(seeds), len(findings.seeds), confidence)


def no_gain(judged: dict[str, Any]) -> str:
    """Why a repair gains nothing on inputs that it has not seen; empty where it does."""
    gone, before = (judged.get(name, {}) for name in ("gone_held_out", "differ_before"))
    if gone.get("total") and not gone["count"]:
        return "the best file takes none of the deviations away"
    after = judged.get("agreement", {}).get("differ", {}).get("count", 0)
    if before.get("count") and after >= before["count"]:
        return "the best file makes as many new deviations as it takes away"
    return ""
