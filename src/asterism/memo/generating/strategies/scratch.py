"""Models that are no mutants: the seeds alone (CRADLE), and from scratch (Muffin)."""

from __future__ import annotations

import numpy as np

from asterism.memo.generating.campaign import Mutant
from asterism.memo.generating.operators import MutationContext, add_layer
from asterism.memo.generating.params import GenerateParams
from asterism.memo.generating.strategies import STRATEGIES, Strategy, within_limits
from asterism.memo.graphs.coverage import Coverage
from asterism.memo.graphs.graph import Graph, input_node
from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import INTEGER, InvalidLayerError


@STRATEGIES.register("cradle")
class CradleStrategy(Strategy):
    """CRADLE, which runs the published models as they are."""

    @property
    def limit(self) -> int:
        """The number of proposals: one for each seed."""
        return len(self.seeds)

    def __init__(self, seeds: dict[str, Graph], params: GenerateParams) -> None:
        super().__init__(seeds, params)
        self._waiting = list(seeds)

    def learnt(self) -> list[str]:
        """The seeds that are left."""
        return self._waiting

    def restore(self, learnt: list[str]) -> None:
        """See :meth:`Strategy.restore`."""
        self._waiting = list(learnt)

    def propose(self, rng: np.random.Generator, coverage: Coverage) -> Mutant:
        """The next seed."""
        name = self._waiting.pop(0)
        return Mutant(self.seeds[name], name, "seed", 0)


@STRATEGIES.register("muffin")
class MuffinStrategy(Strategy):
    """From scratch, as Muffin does: a chain, or a cell whose layers read any earlier one."""

    def propose(self, rng: np.random.Generator, coverage: Coverage) -> Mutant | None:
        """A chain or a cell of three to ten layers."""
        context = MutationContext(rng, coverage, guided=False)
        cells = bool(rng.random() < 0.5)
        shape = [int(v) for v in rng.integers(2, 9, context.pick([1, 2, 3, 4]))]
        graph = Graph({0: input_node(shape)})
        last = 0
        kinds = [k for k, spec in universe().items() if spec.dtypes != (INTEGER,)]
        for _ in range(int(rng.integers(3, 11))):
            kind = context.pick(kinds)
            sources = [context.pick(list(graph.nodes)) if cells else last]
            if universe()[kind].merges:
                sources.append(context.pick(list(graph.nodes)))
            try:
                grown, new = add_layer(graph, kind, sources, context)
            except InvalidLayerError:
                continue
            if within_limits(grown, self.params):
                graph, last = grown, new
        return Mutant(graph, "", "cell" if cells else "chain", 0) if graph.layers else None
