"""Scripts and reports of findings on configurations just outside of what is valid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.report.bug_reports import Reporter
from asterism.differential.triage.triage import UniqueFinding

#: Their folder below that of all findings, and its list.
OUTSIDE_FOLDER, LIST = "outside", "unique.json"


def write_outside(
    worker_pool: WorkerPool, unique: Sequence[UniqueFinding], reporter: Reporter, folder: Path
) -> dict[str, int]:
    """Write a folder for each distinct one, with scripts that are confirmed like others.

    Args:
        worker_pool: started where there are such findings.
        unique: the findings.
        reporter: that writes into the folder.
        folder: for the results, which is made where there are any.

    Returns:
        Counts, as a JSON value.
    """
    reports = []
    if unique:
        worker_pool.start()
        folder.mkdir()
        for found in unique:
            reporter.start(found)
        reports = [reporter.finish(found) for found in unique]
        listed = [r.to_json(u) for u, r in zip(unique, reports, strict=True)]
        write_json(folder / LIST, listed)
    return {
        "outside": len(unique),
        "outside_reproduced_in_three_processes": sum(r.reproduced for r in reports),
    }
