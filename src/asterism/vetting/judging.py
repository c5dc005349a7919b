"""Judging a repaired model on inputs that its repair has not seen, and by a new search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.core.random_streams import stream
from asterism.core.statistics import Share, compute_share
from asterism.dflare.outcome import SearchResult
from asterism.models.tensor_models.subjects import FileSubject, Subject
from asterism.vetting.agreement import measure_agreement
from asterism.vetting.measurement import measure_flips
from asterism.vetting.opening import VettingSession, open_alternative, open_alternative_model
from asterism.vetting.params import VetParams
from asterism.vetting.repair_figures import (
    JudgedRepair,
    RepairFigures,
    Speed,
    measure_speed,
    write_speeds,
)
from asterism.vetting.searching import search_rows
from asterism.vetting.symptoms import find_symptoms
from asterism.vetting.verdict import check_thresholds


@dataclass(frozen=True)
class RepairTask:
    """A pair to repair, and the inputs that the repair is judged by.

    Attributes:
        vetted: the pair.
        unseen: rows of the inputs that the repair has not seen, int64, ascending.
        seed: the run's seed.
        speeds: the speeds of the original and of the compressed model.
        folder: gets tables and the repaired file.
    """

    vetted: VettingSession
    unseen: NDArray[np.int64]
    seed: int
    speeds: Sequence[Speed]
    folder: Path

    def conclude(
        self, found: RepairFigures, made: RepairFigures, repaired: Subject, emulated: bool = False
    ) -> RepairFigures:
        """Judge a repaired model; the file of one that gains nothing is removed.

        Args:
            found: what is to blame.
            made: the same, with what the repaired model is.
            repaired: the model.
            emulated: whether the compressed model may emulate its integers, as a graph does that
                no compiler has seen: where it is slow itself, its repair is not to blame.
        """
        judged = judge_repair(self.vetted, repaired, self.unseen, self.seed)
        if nothing := judged.no_gain:
            if isinstance(repaired, FileSubject):
                repaired.path.unlink()
            told = f"{nothing} on {len(self.unseen)} inputs that it was not made by"
            return replace(found, reason=told)
        with open_alternative_model(self.vetted, repaired) as model:
            speed = measure_speed("repaired", repaired.size, model, self.vetted.inputs.items)
        original, compressed = self.speeds
        write_speeds([original, compressed, speed], self.folder)
        given = self.vetted.given
        return replace(
            made,
            bytes=repaired.size,
            bytes_before=given.compressed.size,
            bytes_original=given.original.size,
            sha256=repaired.digest,
            slower=speed.slower_than(original)
            and not (emulated and compressed.slower_than(original)),
            judged=judged,
        )


def judge_repair(
    vetted: VettingSession, path: Path | Subject, unseen: NDArray[np.int64], seed: int
) -> JudgedRepair:
    """How a repaired model does on inputs that its repair has not seen.

    The new search starts from unseen inputs, with other random numbers than the first, and from
    half as many seeds. It runs twice from the same seeds: against the compressed model, whose
    triggering inputs the repaired file is then asked about, and against the repaired file.

    Args:
        vetted: the compressed model's pair.
        path: the repaired file, or the model.
        unseen: rows of the inputs that the repair has not seen, int64, ascending.
        seed: the run's seed.
    """
    params, confidence = vetted.params, vetted.params.confidence
    again = int(stream(seed, "vet", "judging").integers(2**31))
    seeds = max(1, params.search.seeds // 2)
    before = search_rows(vetted, unseen, seeds, again)
    found = [trigger.item for findings in before.values() for trigger in findings.triggers]
    formerly = vetted.deviates
    deviating = vetted.inputs.items[unseen[formerly[unseen]]]
    held_out = np.concatenate([deviating, np.stack(found)]) if found else deviating
    with open_alternative(vetted, path) as repaired:
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
        broken = find_symptoms(*own, repaired.shapes)
        flips = measure_flips(_without_bounds(repaired), agreed, seed)
        after = search_rows(repaired, unseen, seeds, again)
    slight = [flip.share for flip in flips if flip.strength == params.changes.slight]
    criteria = check_thresholds(
        agreement, broken, next(iter(slight), None), params.thresholds, confidence
    )
    return JudgedRepair(
        gone_held_out=compute_share(int((~still).sum()), len(still), confidence),
        differ_before=compute_share(int(formerly[unseen].sum()), len(unseen), confidence),
        agreement=agreement,
        flips=flips,
        new_search={
            name: {
                "before": _succeeded(before[name], confidence),
                "after": _succeeded(after[name], confidence),
            }
            for name in before
        },
        criteria=criteria,
    )


def _without_bounds(vetted: VettingSession) -> VettingSession:
    """The verdict looks at a strength; bounds would only be measured again."""
    changes = vetted.params.changes.model_copy(update={"bounds": []})
    params: VetParams = vetted.params.model_copy(update={"changes": changes})
    return replace(vetted, params=params)


def _succeeded(findings: SearchResult, confidence: float) -> Share:
    """The share of seeds from which a triggering input was found."""
    seeds = {trigger.seed for trigger in findings.triggers}
    return compute_share(len(seeds), len(findings.seeds), confidence)
