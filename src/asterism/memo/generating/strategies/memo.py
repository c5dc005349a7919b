"""MEMO (Algorithm 2), its ablations (uniform selection, the older operators), and LEMON."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from asterism.core.metropolis import MetropolisHastings, Selector
from asterism.memo.generating.campaign import Mutant
from asterism.memo.generating.operators import OPERATORS, MutationContext
from asterism.memo.generating.params import GenerateParams
from asterism.memo.generating.strategies import STRATEGIES, Strategy, draw_mutant
from asterism.memo.graphs.coverage import Coverage
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.store import graph_from_json

#: Layers that one operator of the paper adds or changes at most.
PUBLISHED_LAYERS = 5

#: A model (a slot of the pool) and an operator.
Choice = tuple[int, str]


@STRATEGIES.register("memo")
class MemoStrategy(Strategy):
    """Metropolis–Hastings over ⟨model, operator⟩ (Li et al., Algorithm 2).

    The fitness of a pair is ``(score(model) + score(operator)) / (times selected + 1)``, where a
    score is the number of coverage elements that mutants of the model, or by the operator,
    were the first to cover; with ``published`` it is the number of mutants that were the first to
    cover something (equation 2). A mutant that raises coverage replaces the model it was made
    from; one that has grown as large as models may be gives its place back to the seed.
    """

    families: tuple[str, ...] = ("memo", "inputs")
    #: Operators of these families that it does not have.
    without: tuple[str, ...] = ()
    guided = True
    #: Whether all pairs are equally likely, whatever they have served so far.
    uniform = False

    def __init__(self, seeds: dict[str, Graph], params: GenerateParams) -> None:
        super().__init__(seeds, params)
        later = ("inputs",) if params.published else ()
        families = set(self.families).difference(later)
        self._operators = [
            n for n in OPERATORS if OPERATORS[n].family in families and n not in self.without
        ]
        self._names = list(seeds)
        self._pool = list(seeds.values())
        self._model_scores: defaultdict[int, float] = defaultdict(float)
        self._operator_scores: defaultdict[str, float] = defaultdict(float)
        self._selected: Counter[Choice] = Counter()
        self._slot = 0
        self._applied: list[str] = []
        self._selector: Selector = Selector() if self.uniform else MetropolisHastings(params.p)
        self._choices = [(s, name) for s in range(len(self._pool)) for name in self._operators]
        #: Where the chain is, None before its first choice.
        self._current: Choice | None = None

    def fitness(self, choice: Choice) -> float:
        """The rewards of a pair, divided by how often it was selected."""
        slot, operator = choice
        scores = self._model_scores[slot] + self._operator_scores[operator]
        return scores / (self._selected[choice] + 1)

    def propose(self, rng: np.random.Generator, coverage: Coverage) -> Mutant | None:
        """A mutant by the selected pair.

        Where a model is to be mutated several times before it is run, the operators of the next
        pairs are applied to it too, and count as selected with this model.
        """
        slot, operator = self._select(rng)
        self._slot, self._applied = slot, []
        graph = self._pool[slot]
        most = PUBLISHED_LAYERS if self.params.published else 1
        context = MutationContext(rng, coverage, self.guided, most)
        for step in range(self.params.mutations):
            if step:
                _, operator = self._select(rng, slot)
            mutant = draw_mutant(operator, graph, context, self.params)
            if mutant is not None:
                graph = mutant
                self._applied.append(operator)
        if not self._applied:
            self._pool[slot] = self._origin(slot)  # it may be too large to grow: begin anew
            return None
        return Mutant(graph, self._names[slot], "+".join(self._applied), 0)

    def _select(self, rng: np.random.Generator, slot: int | None = None) -> Choice:
        """The next pair, or its operator with the model of ``slot``; what is used is counted."""
        self._current = self._selector.select(self._choices, self.fitness, self._current, rng)
        selected, operator = self._current
        choice = (selected if slot is None else slot, operator)
        self._selected[choice] += 1
        return choice

    def reward(self, mutant: Mutant) -> None:
        """Score model and operators, and keep the mutant where it raised coverage."""
        slot = self._slot
        score = min(mutant.gain, 1) if self.params.published else mutant.gain
        self._model_scores[slot] += score
        for operator in self._applied:
            self._operator_scores[operator] += score / len(self._applied)
        full = len(mutant.graph.layers) >= self.params.max_layers - 1
        if full:
            self._pool[slot] = self._origin(slot)
        elif mutant.gain:
            self._pool[slot] = mutant.graph

    def _origin(self, slot: int) -> Graph:
        return self.seeds[self._names[slot]]

    def learnt(self) -> dict[str, Any]:
        """The pool, all scores, and the state of the chain."""
        return {
            "pool": [graph.to_json() for graph in self._pool],
            "model_scores": sorted(self._model_scores.items()),
            "operator_scores": sorted(self._operator_scores.items()),
            "selected": [[*choice, times] for choice, times in sorted(self._selected.items())],
            "current": self._current,
        }

    def restore(self, learnt: dict[str, Any]) -> None:
        """See :meth:`Strategy.restore`."""
        self._pool = [graph_from_json(value) for value in learnt["pool"]]
        self._model_scores.update(dict(learnt["model_scores"]))
        self._operator_scores.update(dict(learnt["operator_scores"]))
        self._selected.update({(slot, name): times for slot, name, times in learnt["selected"]})
        if learnt["current"] is not None:
            slot, name = learnt["current"]
            self._current = (slot, name)


@STRATEGIES.register("memo_r")
class UniformMemoStrategy(MemoStrategy):
    """MEMO_r: every pair of model and operator is equally likely; operators aim as MEMO's do."""

    uniform = True


@STRATEGIES.register("memo_o")
class OlderOperatorsStrategy(MemoStrategy):
    """MEMO_o: MEMO's selection over the operators of LEMON, DeepMutation and Audee."""

    families = ("older",)
    guided = False


@STRATEGIES.register("lemon")
class LemonStrategy(OlderOperatorsStrategy):
    """LEMON's twelve operators, every pair of model and operator being equally likely.

    LEMON prefers pairs whose mutants the libraries disagree on more. This needs the libraries to
    be run, which generation does not do. CC is Audee's.
    """

    without = ("CC",)
    uniform = True
