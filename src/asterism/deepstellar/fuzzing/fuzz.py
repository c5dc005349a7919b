"""Fuzzing as one call: all islands of a campaign, united."""

from __future__ import annotations

from functools import partial

from asterism.core.messages.console import get_logger
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.work_units import ALONE, WorkUnits, split_evenly
from asterism.deepstellar.campaigns.population import Population
from asterism.deepstellar.fuzzing.campaign import FuzzingCampaign, unguided_mutants
from asterism.deepstellar.fuzzing.union import unite
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.parameters.params import FuzzParams
from asterism.deepstellar.seeding.seeds import SeedInputs
from asterism.models.recurrent import RecurrentModel

log = get_logger(__name__)


def fuzz(
    network: RecurrentModel,
    model: TraceModel,
    seeds: SeedInputs,
    params: FuzzParams,
    criterion: str,
    seed: int,
    units: WorkUnits = ALONE,
) -> Population:
    """Search for mutants that reach new states or change the prediction.

    Args:
        network: the network under test.
        model: its Markov chain.
        seeds: correctly classified inputs.
        params: how to fuzz.
        criterion: what guides the search, one of ``params.criteria``.
        seed: the run's seed.
        units: who computes the islands.

    Returns:
        What was found. It depends on the arguments other than ``units``, not on threads, speed or
        interruptions.
    """
    budgets = split_evenly(params.mutants, params.islands)
    if criterion != "none" and max(budgets) <= unguided_mutants(params):
        log.warning(
            "the budget ends before guidance begins: raise fuzz.mutants",
            now=params.mutants,
            well_above=unguided_mutants(params) * params.islands,
        )

    def run(island: int, budget: int, checkpoint: Checkpoint | None) -> Population:
        campaign = FuzzingCampaign(network, model, seeds, params, criterion, seed, island, budget)
        return campaign.run(checkpoint)

    jobs = {
        f"island-{island}": partial(run, island, budget) for island, budget in enumerate(budgets)
    }
    return unite(units.gather(jobs, Population.load), len(seeds))
