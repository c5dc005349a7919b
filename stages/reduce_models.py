"""Reduce the seed models (Algorithm 1) and keep their weights."""

from pathlib import Path

from asterism.core.files.artifacts import write_json, write_table
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.differential.reducing.params import ReduceParams
from asterism.differential.reducing.reduction import reduce_models
from asterism.memo.graphs.store import write_models, write_weights

ARTIFACTS = Path("artifacts/reduce_models")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    reduce: ReduceParams


def run(params: Params) -> None:
    """Write the reduced models, their weights and the table."""
    result = reduce_models(params.reduce, params.seed)
    write_models(ARTIFACTS, result.models)
    write_weights(ARTIFACTS / "weights.npz", result.weights)
    write_table(ARTIFACTS / "reduction.csv", result.rows)
    shares = [row["layers_reduced"] / row["layers"] for row in result.rows]
    lost = sum(
        row[kind] - row[f"{kind}_kept"]
        for row in result.rows
        for kind in ("types", "pairs", "parameters")
    )
    before, after = (sum(row[of] for row in result.rows) for of in ("weights", "weights_reduced"))
    metrics = {
        "models": len(result.rows),
        "mean_share_of_layers": sum(shares) / len(shares),
        "coverage_lost": lost,
        "weights_reduced": after / before,
    }
    write_json(Path("metrics/reduce_models.json"), metrics)
    write_json(Path("logs/reduce_models.seconds.json"), result.seconds)
