"""Shrink and de-duplicate the findings, and write a reproducer and a bug report for each."""

from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.resuming.work_units import stage_outputs
from asterism.differential.oracle.finding import read_findings
from asterism.differential.params import TriageSettings as Params
from asterism.differential.triage.shrink_cache import STAGE, open_shrunk_findings, triage_run
from asterism.differential.triage.triage import FindingsToTriage, triage_and_write
from asterism.memo.graphs.store import read_models

ARTIFACTS = Path("artifacts/triage_findings")
WEIGHTS = Path("artifacts/reduce_models/weights.npz")


def run(params: Params) -> None:
    """Write a folder for each unique finding, and their list."""
    graphs = list(read_models(Path("artifacts/generate_models")).values())
    findings = read_findings(Path("artifacts/judge_models/findings.json"), len(graphs))
    excluded = read_findings(Path("artifacts/judge_models/apart.json"), len(graphs))
    state = triage_run(WEIGHTS, params)
    with open_shrunk_findings(state) as memory:
        given = FindingsToTriage(findings, graphs, WEIGHTS, excluded)
        metrics = triage_and_write(given, params, ARTIFACTS, memory)
        write_json(Path("metrics/triage_findings.json"), metrics)
        if not metrics["not_minimal"] and not metrics["groups_left_by_budget"]:
            state.finish(STAGE, stage_outputs(STAGE))  # no larger budget would go on from it
