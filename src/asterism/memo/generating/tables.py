"""Tables and facts about campaigns, for files and the report."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from asterism.memo.generating.campaign import GenerationCampaign
from asterism.memo.graphs.coverage import PAPER_PAIRS, PAPER_TYPES, declared, of_the_paper

#: Rows of a strategy's growth.
_MOST_POINTS = 1001


def growth_table(campaigns: dict[str, GenerationCampaign]) -> list[dict[str, Any]]:
    """Coverage after each model, or after so many as a plot can show, by strategy."""
    return [
        {"strategy": name, **made.growth[at]}
        for name, made in campaigns.items()
        for at in _evenly(len(made.growth), _MOST_POINTS)
    ]


def _evenly(count: int, most: int) -> list[int]:
    """At most ``most`` of so many positions, evenly apart, the first and the last among them."""
    kept = min(count, most)
    return [(count - 1) * n // max(kept - 1, 1) for n in range(kept)]


def mutant_table(campaign: GenerationCampaign, executed: Collection[int]) -> dict[str, list[Any]]:
    """Where each generated model comes from, what it was the first to cover, whether it is run."""
    mutants = campaign.mutants
    return {
        "model": list(range(len(mutants))),
        "executed": [number in executed for number in range(len(mutants))],
        "seed_model": [m.seed_model for m in mutants],
        "operators": [m.operator for m in mutants],
        "layers": [len(m.graph.layers) for m in mutants],
        "gain": [m.gain for m in mutants],
    }


def universe_facts() -> dict[str, int]:
    """The denominators of coverage: ours, the paper's, and ours of the paper's families."""
    whole, paper = declared(), of_the_paper()
    return {
        "types": len(whole.types),
        "pairs": len(whole.pairs),
        "parameters": len(whole.parameters),
        "inputs": len(whole.inputs),
        "paper_types": PAPER_TYPES,
        "paper_pairs": PAPER_PAIRS,
        "types_of_its_families": len(paper.types),
        "pairs_of_its_families": len(paper.pairs),
        "parameters_of_its_families": len(paper.parameters),
    }
