"""Generate diverse models (Algorithm 2) and measure the coverage of the layer universe."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path

from asterism.core.files.artifacts import write_json, write_table
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.resuming.work_units import work_units
from asterism.differential.engine.branch_params import RewardedGenerateParams
from asterism.differential.engine.branch_reward import branch_reward
from asterism.differential.engine.branches import branch_table
from asterism.memo.generating.campaign import growth_table, mutant_table, universe_facts
from asterism.memo.generating.generate import generate
from asterism.memo.graphs.coverage import coverage_of
from asterism.memo.graphs.light_keras import import_keras
from asterism.memo.graphs.store import read_models, write_models

SEEDS = Path("artifacts/reduce_models")
VERSIONS = Path("artifacts/library_versions/env.json")
ARTIFACTS = Path("artifacts/generate_models")
WEIGHTS = Path("artifacts/reduce_models/weights.npz")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    generate: RewardedGenerateParams


def run(params: Params) -> None:
    """Write the models, and the growth of coverage for this strategy and those compared."""
    import_keras("numpy")  # its lists of options are read, and nothing is built
    seeds = read_models(SEEDS)
    islands = work_units("generate_models", params, [SEEDS, VERSIONS])
    backends = params.generate.branch_backends
    reward = partial(branch_reward, backends, WEIGHTS, params.seed) if backends else nullcontext
    campaigns = generate(seeds, params.generate, params.seed, islands, reward)
    main = campaigns[params.generate.strategy]
    executed = {
        i: main.mutants[i].graph for i in sorted(main.choose_broadest(params.generate.executed))
    }
    write_models(ARTIFACTS, {f"{i:05d}": graph for i, graph in executed.items()})
    write_table(ARTIFACTS / "mutants.csv", mutant_table(main, executed))
    branches = branch_table(main.rewards)
    write_table(ARTIFACTS / "branches.csv", branches)
    write_json(ARTIFACTS / "universe.json", universe_facts())
    write_table(Path("plots/generate_models/growth.csv"), growth_table(campaigns))
    metrics = {
        "models": len(main.mutants),
        "executed": len(executed),
        "coverage": {name: made.coverage.rates() for name, made in campaigns.items()},
        "coverage_of_seeds": coverage_of(seeds.values()).rates(),
        "coverage_of_executed": coverage_of(executed.values()).rates(),
        "rejected_draws": sum(main.rejected.values()),
    }
    if params.generate.branch_backends:
        metrics["branches_reached"] = sum(branches["reached"])
        metrics["branches_in_files_entered"] = sum(branches["branches"])
    write_json(Path("metrics/generate_models.json"), metrics)
    islands.finish()
