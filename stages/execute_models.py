"""Run every generated model in every library under test; nothing is judged yet."""

from collections import Counter
from pathlib import Path

from asterism.core.files.artifacts import write_json, write_table
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.resuming.work_units import work_units
from asterism.differential.engine.execution import execute, open_worker_pool
from asterism.differential.engine.tasks import STATUSES
from asterism.differential.params import ExecuteParams
from asterism.memo.graphs.store import read_models, read_weights

ARTIFACTS = Path("artifacts/execute_models")
MODELS = Path("artifacts/generate_models")
WEIGHTS = Path("artifacts/reduce_models/weights.npz")
INPUTS = [MODELS, WEIGHTS, Path("artifacts/library_versions/env.json")]


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    execute: ExecuteParams


def run(params: Params) -> None:
    """Write outcomes, outputs, and what was left out."""
    graphs = list(read_models(MODELS).values())
    read_weights(WEIGHTS)  # or every backend would be left out, and the stage would end well
    groups = work_units("execute_models", params, INPUTS)
    with open_worker_pool(params.execute, WEIGHTS) as worker_pool:
        record = execute(
            graphs,
            worker_pool,
            params.execute.distributions,
            params.seed,
            groups,
            special_share=params.execute.special_share,
            outside_share=params.execute.outside_share,
        )
        left_out = worker_pool.start()  # also where shards ran all models
        seconds = worker_pool.seconds
    record.save(ARTIFACTS)
    write_json(ARTIFACTS / "left_out.json", left_out)
    counts = Counter((o["backend"], o["status"]) for t in record.tasks() for o in t["outcomes"])
    backends = sorted({backend for backend, _ in counts})
    table = {"backend": backends} | {s: [counts[r, s] for r in backends] for s in STATUSES}
    write_table(ARTIFACTS / "outcomes.csv", table)
    totals = {s: sum(counts[r, s] for r in backends) for s in STATUSES}
    write_json(Path("metrics/execute_models.json"), {"models": len(graphs), **totals})
    write_json(Path("logs/execute_models.seconds.json"), seconds)
    groups.finish()
