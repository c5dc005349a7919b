"""Scripts and reports of findings on configurations just outside of what is valid."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.libraries.judging.finding import Finding
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.bug_reports import Reporter
from asterism.libraries.reporting.known_issues import KnownIssue
from asterism.libraries.running.worker_pool import WorkerPool
from asterism.libraries.triage.outside import unique_outside
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.weights import Stored

#: Their folder below that of all findings, and its list.
OUTSIDE_FOLDER, LIST = "outside", "unique.json"


def write_outside(
    worker_pool: WorkerPool,
    apart: Sequence[Finding],
    graphs: Sequence[Graph],
    stored: Stored,
    judging: JudgeParams,
    seed: int,
    most: int,
    known_issues: dict[str, KnownIssue],
    target: Path,
    known: Collection[str] = (),
) -> dict[str, int]:
    """Write a folder for each distinct one, with scripts that are confirmed like others.

    Args:
        worker_pool: started where there are such findings.
        apart: findings that stand apart.
        graphs: the models.
        stored: arrays that nodes may name.
        judging: tolerances.
        seed: of the run.
        most: findings at most.
        known_issues: by a part of the signature.
        target: the folder of all findings.
        known: signatures of earlier runs, which are passed over.

    Returns:
        Counts, as a JSON value.
    """
    unique = unique_outside(apart, graphs, seed, most, known)
    reports = []
    if unique:
        worker_pool.start()
        folder = target / OUTSIDE_FOLDER
        folder.mkdir()
        with Reporter(worker_pool, judging, seed, stored, folder, known_issues) as reporter:
            for found in unique:
                reporter.start(found)
            reports = [reporter.finish(found) for found in unique]
        listed = [r.to_json(u) for u, r in zip(unique, reports, strict=True)]
        write_json(folder / LIST, listed)
    return {
        "outside": len(unique),
        "outside_reproduced_in_three_processes": sum(r.reproduced for r in reports),
    }
