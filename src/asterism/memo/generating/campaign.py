"""The models that a strategy made and their coverage; and its checkpoints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_json, write_json
from asterism.core.resuming.checkpoints import count_appended
from asterism.memo.generating.choice import broadest, cost_of
from asterism.memo.graphs.coverage import Coverage, coverage_of, elements_of
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.graph_json import graph_from_json


@dataclass(frozen=True)
class Mutant:
    """A generated model.

    Args:
        graph: the model.
        seed_model: name of the seed that it descends from, empty for a model from scratch.
        operator: the operator that made it.
        gain: coverage elements that it was the first to cover.
    """

    graph: Graph
    seed_model: str
    operator: str
    gain: int

    def to_json(self) -> dict[str, Any]:
        """A JSON value that :meth:`from_json` reads."""
        facts = {"seed_model": self.seed_model, "operator": self.operator, "gain": self.gain}
        return {**facts, "graph": self.graph.to_json()}

    @staticmethod
    def from_json(value: dict[str, Any]) -> Mutant:
        """What :meth:`to_json` wrote."""
        return Mutant(**{**value, "graph": graph_from_json(value["graph"])})


@dataclass
class GenerationCampaign:
    """Mutants, the coverage after them, and its growth from one to the next."""

    coverage: Coverage
    mutants: list[Mutant] = field(default_factory=list)
    growth: list[dict[str, float]] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    #: What further rewards have seen, one of each island that had one, as JSON values.
    rewards: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._record()

    def add(self, mutant: Mutant) -> Mutant:
        """Count a mutant in; it comes back with what it gained."""
        elements = elements_of(mutant.graph)
        gained = replace(mutant, gain=self.coverage.gain(elements))
        self.coverage.update(elements)
        self.mutants.append(gained)
        self._record()
        return gained

    def broadest(self, count: int | None) -> list[int]:
        """Numbers of so many models that cover much for their cost, best first; None: all."""
        graphs = [mutant.graph for mutant in self.mutants]
        covered, costs = [elements_of(g).all for g in graphs], [cost_of(g) for g in graphs]
        return broadest(covered, costs, len(graphs) if count is None else count)

    def _record(self) -> None:
        self.growth.append({"models": len(self.mutants), **self.coverage.rates()})


#: The folder in a campaign's state to which files of new mutants are added.
MUTANTS = "mutants"


def write_state(
    campaign: GenerationCampaign, proposals: int, learnt: Any
) -> Callable[[Path], None]:
    """What fills a checkpoint's folder, in which :data:`MUTANTS` grows.

    Args:
        campaign: as far as it has come.
        proposals: how many were made.
        learnt: what guides it has learnt, as a JSON value.
    """

    def fill(folder: Path) -> None:
        written = count_appended(folder / MUTANTS)
        new = [m.to_json() for m in campaign.mutants[written:]]
        path = folder / MUTANTS / f"{len(campaign.mutants):08d}.json"
        path.parent.mkdir(exist_ok=True)
        # Without indentation: that takes Python's own encoder ten times as long.
        path.write_text(json.dumps(new), encoding="utf-8")
        facts = {"proposals": proposals, "learnt": learnt, "rejected": dict(campaign.rejected)}
        write_json(folder / "state.json", facts)

    return fill


def read_state(
    folder: Path, seeds: Iterable[Graph]
) -> tuple[GenerationCampaign, int, dict[str, Any]]:
    """What :func:`write_state` wrote: the campaign, its proposals, and what guides it had learnt.

    Args:
        folder: the checkpoint's.
        seeds: the campaign's seed models.
    """
    campaign = GenerationCampaign(coverage_of(seeds))
    for part in sorted((folder / MUTANTS).glob("*.json")):
        for value in read_json(part):
            campaign.add(Mutant.from_json(value))
    facts = read_json(folder / "state.json")
    campaign.rejected.update(facts["rejected"])
    return campaign, int(facts["proposals"]), dict(facts["learnt"])
