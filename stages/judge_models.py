"""Compare what the libraries did and name the odd ones out; nothing is run."""

from pathlib import Path

from asterism.core.files.artifacts import write_json, write_table
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.differential.engine.record import ExecutionRecord
from asterism.differential.oracle.oracle import judge_all, metrics_of
from asterism.differential.oracle.unsupported import unsupported_table
from asterism.differential.params import JudgeParams
from asterism.memo.graphs.store import read_models


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    judge: JudgeParams


def run(params: Params) -> None:
    """Write the findings, the differences that are none, and what is unsupported by layer type."""
    graphs = list(read_models(Path("artifacts/generate_models")).values())
    record = ExecutionRecord.load(Path("artifacts/execute_models"))
    judged = judge_all(graphs, record, params.judge, params.seed)
    folder = Path("artifacts/judge_models")
    write_json(folder / "findings.json", [finding.to_json() for finding in judged.findings])
    write_json(folder / "apart.json", [finding.to_json() for finding in judged.excluded])
    write_table(folder / "unsupported.csv", unsupported_table(graphs, record.tasks()))
    write_json(Path("metrics/judge_models.json"), metrics_of(judged, len(graphs)))
