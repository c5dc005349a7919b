"""Fuzzing as one call: all islands of a campaign, united."""

from __future__ import annotations

from collections.abc import Callable

from asterism.core.checkpoints import Checkpoint
from asterism.deepstellar.fuzzing.campaign import Campaign
from asterism.deepstellar.fuzzing.population import Population
from asterism.deepstellar.fuzzing.union import share, unite
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
    checkpoint: Callable[[int], Checkpoint] | None = None,
    save_every: float = 10.0,
) -> Population:
    """Search for mutants that reach new states or change the prediction.

    Args:
        network: the network under test.
        model: its Markov chain.
        seeds: correctly classified inputs.
        params: how to fuzz.
        criterion: what guides the search, one of ``params.criteria``.
        seed: the run's seed.
        checkpoint: where each island, by number, keeps its state.
        save_every: seconds between two savings; no result depends on it.

    Returns:
        What was found. It depends on the arguments, not on threads, speed or interruptions.
    """
    islands = []
    for island, budget in enumerate(share(params.mutants, params.islands)):
        campaign = Campaign(network, model, seeds, params, criterion, seed, island, budget)
        store = checkpoint(island) if checkpoint is not None else None
        islands.append(campaign.run(store, save_every))
    return unite(islands, len(seeds))
