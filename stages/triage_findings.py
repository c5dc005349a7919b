"""Shrink and de-duplicate the findings, and write a reproducer and a bug report for each."""

from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.resuming.stage_units import outputs_of
from asterism.libraries.judging.finding import read_findings
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.reporting.writing import triage_and_write
from asterism.libraries.running.params import ExecuteParams
from asterism.libraries.triage.params import TriageParams
from asterism.libraries.triage.remembering import STAGE, remembered, triage_run
from asterism.memo.graphs.store import read_models

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
    apart = read_findings(Path("artifacts/judge_models/apart.json"), len(graphs))
    settings = params.execute, params.judge, params.triage, params.seed
    state = triage_run(WEIGHTS, *settings)
    with remembered(state) as answers:
        given = findings, graphs, WEIGHTS, *settings, ARTIFACTS, apart, answers
        metrics = triage_and_write(*given)
        write_json(Path("metrics/triage_findings.json"), metrics)
        if not metrics["not_minimal"] and not metrics["groups_left_by_budget"]:
            state.finish(STAGE, outputs_of(STAGE))  # no larger budget would go on from it
