"""Shrink and de-duplicate the findings, and write a reproducer and a bug report for each."""

from pathlib import Path

from asterism.core.files.artifacts import replacing, write_json
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.libraries.judging.finding import read_findings
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.bug_reports import Reporter, folder_name, read_known_issues
from asterism.libraries.reporting.keras_files import write_keras_files
from asterism.libraries.running.execution import open_worker_pool
from asterism.libraries.running.params import ExecuteParams
from asterism.libraries.triage.counting import counts_of
from asterism.libraries.triage.params import TriageParams
from asterism.libraries.triage.triage import Triage
from asterism.memo.graphs.store import read_models, read_weights

ARTIFACTS = Path("artifacts/triage_findings")
WEIGHTS = Path("artifacts/reduce_models/weights.npz")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    execute: ExecuteParams
    judge: JudgeParams
    triage: TriageParams


def run(params: Params) -> None:
    """Write a folder for each unique finding, and their list."""
    graphs = list(read_models(Path("artifacts/generate_models")).values())
    findings = read_findings(Path("artifacts/judge_models/findings.json"), len(graphs))
    known = read_known_issues(params.triage.known_issues)
    stored = read_weights(WEIGHTS)
    with replacing(ARTIFACTS) as folder, open_worker_pool(params.execute, WEIGHTS) as worker_pool:
        folder.mkdir()
        if findings:
            worker_pool.start()
        triage = Triage(worker_pool, params.judge, params.triage, params.seed)
        with Reporter(worker_pool, params.judge, params.seed, stored, folder, known) as reporter:
            unique, left = triage.run(
                findings, graphs, params.execute.distributions, reporter.start
            )
            write_keras_files([folder / folder_name(found) for found in unique], WEIGHTS)
            reports = [reporter.finish(found) for found in unique]
        summary = [r.to_json(u) for u, r in zip(unique, reports, strict=True)]
        write_json(folder / "unique.json", summary)
    metrics = {
        "findings": len(findings),
        "unique": len(unique),
        "reproduced_in_three_processes": sum(r.reproduced for r in reports),
        "known": sum(bool(r.known) for r in reports),
        "groups_left_by_budget": left,
        "not_minimal": sum(bool(u.unfinished) for u in unique),
        "largest_model": max((len(u.graph.layers) for u in unique), default=0),
    }
    counts = counts_of([u.finding for u in unique], params.execute.backends)
    write_json(Path("metrics/triage_findings.json"), metrics | counts)
