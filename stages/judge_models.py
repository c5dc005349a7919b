"""Compare what the libraries did and name the odd ones out; nothing is run."""

from collections import Counter
from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.libraries.judging.oracle import judge
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.running.execution import Record
from asterism.memo.graphs.store import read_models


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    judge: JudgeParams


def run(params: Params) -> None:
    """Write the findings."""
    graphs = list(read_models(Path("artifacts/generate_models")).values())
    record = Record.load(Path("artifacts/execute_models"))
    verdicts = [
        judge(graphs[result.index], result, params.judge, params.seed)
        for result in record.results(len(graphs))
    ]
    findings = [f for verdict in verdicts for f in verdict.findings]
    write_json(Path("artifacts/judge_models/findings.json"), [f.to_json() for f in findings])
    # A model is one, however many groups of inputs it was rejected with.
    invalid = len({f.model for f in findings if f.symptom == "invalid model"})
    metrics = {
        "findings": len(findings),
        "agreements": sum(v.agreed for v in verdicts),
        "unresolved": sum(v.unresolved for v in verdicts),
        "invalid_models": invalid,
        "invalid_rate": invalid / max(len(graphs), 1),
        "by_symptom": dict(sorted(Counter(f.symptom for f in findings).items())),
    }
    write_json(Path("metrics/judge_models.json"), metrics)
