"""Fuzzing as one call: all islands of a campaign, united."""

from __future__ import annotations

from functools import partial

from asterism.core.checkpoints import Checkpoint
from asterism.core.parts import ALONE, Parts, shares
from asterism.deepstellar.fuzzing.campaign import Campaign
from asterism.deepstellar.fuzzing.population import Population
from asterism.deepstellar.fuzzing.union import unite
from asterism.deepstellar.model import TraceModel
from asterism.deepstellar.params import FuzzParams
from asterism.deepstellar.seeds import Seeds
from asterism.models.recurrent import RecurrentModel


def fuzz(
    network: RecurrentModel,
    model: TraceModel,
    seeds: Seeds,
    params: FuzzParams,
    criterion: str,
    seed: int,
    parts: Parts = ALONE,
) -> Population:
    """Search for mutants that reach new states or change the prediction.

    Args:
        network: the network under test.
        model: its Markov chain.
        seeds: correctly classified inputs.
        params: how to fuzz.
        criterion: what guides the search, one of ``params.criteria``.
        seed: the run's seed.
        parts: who computes the islands.

    Returns:
        What was found. It depends on the arguments other than ``parts``, not on threads, speed or
        interruptions.
    """

    def run(island: int, budget: int, checkpoint: Checkpoint | None) -> Population:
        campaign = Campaign(network, model, seeds, params, criterion, seed, island, budget)
        return campaign.run(checkpoint)

    jobs = {
        f"island-{island}": partial(run, island, budget)
        for island, budget in enumerate(shares(params.mutants, params.islands))
    }
    return unite(parts.gather(jobs, Population.load), len(seeds))
