"""The models that a strategy made: their coverage, checkpoints, tables, and which of them to run.

Making a model takes a millisecond, running it most of a second.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_json, write_json
from asterism.core.resuming.checkpoints import count_appended_items
from asterism.memo.graphs.coverage import (
    PAPER_PAIRS,
    PAPER_TYPES,
    Coverage,
    coverage_of,
    covered_elements,
    declared_coverage,
    restrict_to_paper,
)
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.store import graph_from_json
from asterism.memo.universe.layers import universe

#: The cost of any model beside that of its layers, in units of one plain layer (measured, see
#: ``docs/measurements/libraries.md``).
MODEL_COST = 15
#: Rows of a strategy's growth.
_MOST_POINTS = 1001


def estimate_cost(graph: Graph) -> int:
    """About how long a model takes in the libraries, in units of one plain layer."""
    layers = universe()
    return MODEL_COST + sum(
        spec.cost(node.config, [graph.tensors[i] for i in node.inputs])
        for node in graph.nodes.values()
        if (spec := layers.get(node.type)) is not None
    )


def choose_broadest(
    covered: Sequence[Collection[Hashable]], sizes: Sequence[int], count: int
) -> list[int]:
    """Positions of models that together cover much for their size, in the order of the choice.

    Each adds most, for its size, to what the earlier ones cover; it is the first of equals. So
    those chosen cover at least 1 - 1/e of what any models of their total size could (Khuller, Moss
    and Naor 1999). Large ones are not favoured: they cost more to run, and one layer that a library
    does not support hides all others. Where nothing new is left, the choice begins anew among the
    rest.

    Args:
        covered: what each model covers.
        sizes: how large each is, at least 1.
        count: how many to choose; all where there are fewer.
    """
    chosen: list[int] = []
    rest = list(range(len(covered)))
    while rest and len(chosen) < count:
        still = count - len(chosen)
        cover = _cover(covered, sizes, rest, still) or rest[:still]
        chosen += cover
        rest = sorted(set(rest).difference(cover))
    return chosen


def _cover(
    covered: Sequence[Collection[Hashable]],
    sizes: Sequence[int],
    among: Sequence[int],
    count: int,
) -> list[int]:
    """Those that each add something, the largest addition for its size first.

    What a model adds only ever falls. So one whose latest addition is still the largest of all,
    however long ago the others were counted, is the largest indeed, and most are counted rarely.
    """
    seen: set[Hashable] = set()
    cover: list[int] = []
    queue = [(-len(covered[at]) / sizes[at], at) for at in among]
    heapq.heapify(queue)
    while len(cover) < count and queue and queue[0][0] < 0:
        _, at = queue[0]
        now = (-len(set(covered[at]) - seen) / sizes[at], at)
        if now == queue[0]:
            heapq.heappop(queue)
            seen.update(covered[at])
            cover.append(at)
        else:
            heapq.heapreplace(queue, now)
    return cover


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
        """The mutant that :meth:`to_json` wrote."""
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
        """Add a mutant; returns it with its gain."""
        elements = covered_elements(mutant.graph)
        gained = replace(mutant, gain=self.coverage.gain(elements))
        self.coverage.update(elements)
        self.mutants.append(gained)
        self._record()
        return gained

    def choose_broadest(self, count: int | None) -> list[int]:
        """Numbers of so many models that cover much for their cost, best first; None: all."""
        graphs = [mutant.graph for mutant in self.mutants]
        covered = [covered_elements(g).all for g in graphs]
        costs = [estimate_cost(g) for g in graphs]
        return choose_broadest(covered, costs, len(graphs) if count is None else count)

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
        written = count_appended_items(folder / MUTANTS)
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
    whole, paper = declared_coverage().counted, restrict_to_paper().counted
    del paper["inputs"]
    return {
        **{kind: len(found) for kind, found in whole.items()},
        "paper_types": PAPER_TYPES,
        "paper_pairs": PAPER_PAIRS,
        **{f"{kind}_of_its_families": len(found) for kind, found in paper.items()},
    }
