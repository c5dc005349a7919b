"""Generate diverse models (Algorithm 2) and measure the coverage of the layer universe."""

from contextlib import nullcontext
from pathlib import Path

from asterism.core.artifacts import write_json, write_table
from asterism.core.params import Section
from asterism.core.stage import checkpoint
from asterism.libraries.branch_reward import BranchReward
from asterism.libraries.branches import by_module
from asterism.memo.generate import STRATEGIES, campaign, start_coverage
from asterism.memo.light_keras import import_keras
from asterism.memo.operator import OPERATORS
from asterism.memo.params import GenerateParams
from asterism.memo.store import read_models, write_models
from asterism.memo.tables import growth_table, mutant_table, universe_facts

ARTIFACTS = Path("artifacts/generate_models")
WEIGHTS = Path("artifacts/reduce_models/weights.npz")


class Params(Section):
    """What the stage reads of ``params.yaml``."""

    seed: int
    generate: GenerateParams


def run(params: Params) -> None:
    """Write the models, and the growth of coverage for this strategy and those compared."""
    import_keras("numpy")  # its lists of options are read, and nothing is built
    seeds = read_models(Path("artifacts/reduce_models"))
    strategies = dict.fromkeys([params.generate.strategy, *params.generate.compared])
    for registry in (STRATEGIES, OPERATORS):
        registry.names()  # a checkpoint's key covers the code that is loaded when it is made
    inputs = [Path("artifacts/reduce_models"), Path("artifacts/library_versions/env.json")]
    saved = {s: checkpoint(f"generate_models-{s}", params, inputs) for s in strategies}
    routes = params.generate.branch_routes
    with BranchReward(routes, WEIGHTS, params.seed) if routes else nullcontext() as reward:
        campaigns = {
            s: campaign(
                seeds,
                params.generate,
                params.seed,
                s,
                saved[s],
                reward if s == params.generate.strategy else None,
            )
            for s in strategies
        }
    main = campaigns[params.generate.strategy]
    models = {f"{i:05d}": m.graph for i, m in enumerate(main.mutants)}
    write_models(ARTIFACTS, models)
    write_table(ARTIFACTS / "mutants.csv", mutant_table(main))
    write_table(ARTIFACTS / "branches.csv", reward.table() if reward else by_module((), {}))
    write_json(ARTIFACTS / "universe.json", universe_facts())
    write_table(Path("plots/generate_models/growth.csv"), growth_table(campaigns))
    metrics = {
        "models": len(models),
        "coverage": {name: made.coverage.rates() for name, made in campaigns.items()},
        "coverage_of_seeds": start_coverage(seeds).rates(),
        "refused_draws": sum(main.refused.values()),
    }
    write_json(Path("metrics/generate_models.json"), metrics)
    for state in saved.values():
        state.discard()
