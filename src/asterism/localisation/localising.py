"""Localising: finding the nodes that cause deviations, and small sets of them to repair.

An *evaluation* is one run of a candidate graph over given inputs. The first ones exchange one
node each, or, where that is dear, groups of nodes, of which the one with the largest effect is
halved again and again. The differences that single nodes make to the outputs are added up to
predict what several nodes would make together, and further evaluations check, and correct, these
predictions: to first order in the errors, their effects on the outputs add up.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asterism.localisation.matching import constant_value
from asterism.localisation.quantised_nodes import MatchedPair
from asterism.localisation.running import Array, run_in_threads
from asterism.localisation.tensor_errors import (
    TensorError,
    measure_own_noise,
    measure_tensor_errors,
)
from asterism.localisation.trials import (
    Outputs,
    SingleNodeTrials,
    Trial,
    TrialRunner,
)

#: Multiplications that trials of groups and single nodes may take, about half a minute of one
#: processor; inputs that they are judged by at least; and how many are tried whatever they take.
_WORK, _INPUTS, _TRIALS = 1e12, 16, 24
#: Nodes whose own trials are wanted at least.
_BLAMED = 5
#: Multiplications that take as long as one value of a tensor to store and to load, about.
_A_VALUE = 30.0
#: Operators of which each result is a sum over the weights of its channel.
_SUMS = ("Conv", "ConvTranspose", "MatMul", "Gemm")


class EvaluationBudget:
    """Counts the evaluations that may still be spent."""

    def __init__(self, evaluations: int) -> None:
        self.left = evaluations
        self.spent = 0

    def take(self, wanted: int) -> int:
        """The number of evaluations that may be spent: those wanted, or all that are left."""
        taken = min(wanted, self.left)
        self.left -= taken
        self.spent += taken
        return taken


@dataclass(frozen=True)
class RankedNode:
    """A quantised node, or a module of PyTorch, and what it is to blame for.

    Attributes:
        index: of the node in ``pair.nodes``, or of the module among those that can be exchanged.
        node: its name.
        operator: its type.
        explained: share of the deviation that is gone with this node alone in float; negative
            where there is more then. None where the budget allowed no trial.
        error_explained: the same of the outputs' squared error.
        own_error: relative error of its output, where it takes the original's tensors.
    """

    index: int
    node: str
    operator: str
    explained: float | None
    error_explained: float | None
    own_error: float

    @property
    def rank(self) -> tuple[float, ...]:
        """Order of the ranking: deviation explained, then error explained, then own error."""
        if self.explained is None or self.error_explained is None:
            return (1.0, 0.0, 0.0, -self.own_error, self.index)
        return (0.0, -self.explained, -self.error_explained, -self.own_error, self.index)


@dataclass(frozen=True)
class Localisation:
    """The nodes to blame, and sets of them that were tried in float.

    Attributes:
        errors: the errors of the tensors along the graph.
        ranking: quantised nodes, the most to blame first.
        order: indices of nodes, in the order in which they join the set that stays float.
        trials: what the sets of the order's beginnings do, by their sizes from 0; measured.
        evaluations: runs of candidate graphs that it took, the one for own errors among them.
    """

    errors: list[TensorError]
    ranking: list[RankedNode]
    order: list[int]
    trials: list[Trial]
    evaluations: int


class BlamedNodes:
    """Ranks the nodes to blame, and grows sets of them.

    Where all trials of single nodes over all inputs would be dear, they are over the first inputs,
    and, where that does not suffice, the nodes are halved.

    Args:
        runner: the pair and the inputs.
        evaluations: runs of candidate graphs, those that grow a set among them.
        most: nodes of the largest set, a tenth of all where it is None.

    Attributes:
        errors: the errors of the tensors along the graph.
        ranking: quantised nodes, the most to blame first.
    """

    def __init__(self, runner: TrialRunner, evaluations: int, most: int | None = None) -> None:
        pair, count = runner.pair, len(runner.pair.nodes)
        self._budget = EvaluationBudget(evaluations)
        self._budget.take(1)
        self.errors: list[TensorError] = measure_tensor_errors(pair, runner.feeds)
        noise = measure_own_noise(pair, self.errors)
        self._most = max(1, -(-count // 10)) if most is None else most
        reserve = min(self._most, max(1, evaluations // 4))
        order = sorted(range(count), key=lambda i: (-noise[i], i))
        work = max(1.0, estimate_multiplications(pair, self.errors))
        few = runner.first(_runs(runner, _WORK / (work * max(1, count))))
        limit = max(_TRIALS, int(_WORK / (work * max(1, len(few.feeds)))))
        limit = max(0, min(limit, self._budget.left - reserve))
        groups = [] if count <= limit else doubling_groups(order)
        if groups and len(groups) <= limit:
            tried = _Halving(few, groups, limit)
            singles = tried.found(max(self._most, _BLAMED))
            self._budget.take(tried.spent)
        else:
            singles = few.singles(order[: self._budget.take(min(count, limit))], self._most)
        ranking = [
            _ranked(pair, few.base, i, singles.trials.get(i), noise[i]) for i in range(count)
        ]
        self.ranking: list[RankedNode] = sorted(ranking, key=lambda ranked: ranked.rank)
        self._greedy = _Greedy(runner, few, singles, noise)

    def grown(self, enough: float, most: int | None = None) -> Localisation:
        """The localisation after a set has grown until enough of the deviation is gone.

        Args:
            enough: share of the deviation.
            most: nodes of the set, at most as many as were asked for at first.
        """
        limit = self._most if most is None else min(most, self._most)
        self._greedy.grow(self._budget, limit, enough)
        order, trials = self._greedy.order, self._greedy.trials
        return Localisation(
            self.errors, self.ranking, list(order), list(trials), self._budget.spent
        )


def estimate_multiplications(pair: MatchedPair, errors: Sequence[TensorError]) -> float:
    """About how many multiplications one run takes; storing values of tensors counts as some.

    Args:
        pair: the matched pair.
        errors: the errors of the pair's tensors, which say how many values each has.
    """
    values = {error.tensor: error.values for error in errors}
    graph, work = pair.opened.original, _A_VALUE * sum(values.values())
    for node in pair.nodes:
        results = max((values.get(tensor, 0.0) for tensor in node.outputs), default=0.0)
        for index in node.members:
            part = graph.nodes[index]
            weights = constant_value(graph, part.input[1]) if part.op_type in _SUMS else None
            if weights is not None and weights.size:
                turned = any(a.name == "transB" and a.i for a in part.attribute)
                first = turned or part.op_type == "Conv"
                work += results * weights.size / weights.shape[0 if first else -1]
    return work


def _runs(runner: TrialRunner, affordable: float) -> int:
    """How many of the first runs single trials are over: what is affordable, and enough inputs."""
    items = np.cumsum([len(next(iter(given.values()))) for given in runner.given])
    least = int(np.searchsorted(items, _INPUTS)) + 1
    return min(len(items), max(least, int(min(affordable, len(items)))))


def doubling_groups(order: Sequence[int]) -> list[tuple[int, ...]]:
    """Groups of 1, 1, 2, 4, 8 and so on nodes, so that the most likely ones are alone."""
    groups, start, size = [], 0, 1
    while start < len(order):
        groups.append(tuple(order[start : start + size]))
        start += size
        size = start
    return groups


class _Halving:
    """Trials of groups; the group with the largest effect is halved until single nodes are left.

    A group has about the effect of its nodes together, so a node that comes up as the best of
    what is left is better than those of the groups that are not halved yet.

    Attributes:
        spent: evaluations.
    """

    def __init__(self, runner: TrialRunner, groups: Sequence[tuple[int, ...]], limit: int) -> None:
        self._runner, self._limit = runner, limit
        self._waiting: list[tuple[float, float, tuple[int, ...]]] = []
        self._singles = SingleNodeTrials({}, {})
        self.spent = 0
        self._try(groups)

    def found(self, wanted: int) -> SingleNodeTrials:
        """The trials of single nodes, once so many are known to be the best ones."""
        while self._waiting and wanted:
            _, _, group = heapq.heappop(self._waiting)
            if len(group) == 1:
                wanted -= 1
            elif self.spent + 2 <= self._limit:
                middle = len(group) // 2
                self._try([group[:middle], group[middle:]])
            else:
                break
        return self._singles

    def _try(self, groups: Sequence[tuple[int, ...]]) -> None:
        self.spent += len(groups)
        found = self._runner.run_all(groups)
        for group, (trial, outputs) in zip(groups, found, strict=True):
            heapq.heappush(self._waiting, (trial.deviation, trial.error, group))
            if len(group) == 1:
                self._singles.trials[group[0]] = trial
                self._singles.outputs[group[0]] = outputs


def _ranked(
    pair: MatchedPair, base: Trial, index: int, trial: Trial | None, noise: float
) -> RankedNode:
    node = pair.nodes[index]
    if trial is None:
        return RankedNode(index, node.name, node.operator, None, None, noise)
    explained = 1 - trial.deviation / base.deviation if base.deviation else 0.0
    return RankedNode(index, node.name, node.operator, explained, 1 - trial.error, noise)


class _Greedy:
    """Adds to the set of float nodes the one after which the predicted deviation is smallest.

    Args:
        runner: where it is measured.
        few: where single nodes were tried: the runner, or its first runs.
        singles: the trials with one node in float.
        noise: own errors, which order the nodes that were not tried.
    """

    def __init__(
        self,
        runner: TrialRunner,
        few: TrialRunner,
        singles: SingleNodeTrials,
        noise: Sequence[float],
    ) -> None:
        self._runner, self._few = runner, few
        self._noise = noise
        self._singles = singles
        self._current: Sequence[Outputs] = runner.given
        self.order: list[int] = []
        self.trials: list[Trial] = [runner.base]

    def grow(self, budget: EvaluationBudget, most: int, enough: float) -> None:
        """Add nodes until enough of the deviation is gone; each step is measured."""
        base = self._runner.base.deviation
        while len(self.order) < min(most, len(self._runner.pair.nodes)):
            if base and 1 - self.trials[-1].deviation / base >= enough:
                return
            chosen = self._next()
            is_measured = not self.order and len(self._few.feeds) == len(self._runner.feeds)
            if is_measured and chosen in self._singles.outputs:
                trial, self._current = self._singles.trials[chosen], self._singles.outputs[chosen]
            elif budget.take(1):
                trial, self._current = self._runner.run([*self.order, chosen])
            else:
                return
            self.order.append(chosen)
            self.trials.append(trial)

    def _next(self) -> int:
        left = [i for i in range(len(self._noise)) if i not in self.order]
        tried = [i for i in left if i in self._singles.outputs]
        if not tried:
            return max(left, key=lambda i: (self._noise[i], -i))
        predicted = run_in_threads(self._predicted, tried)
        return min(zip(tried, predicted, strict=True), key=lambda p: (*p[1], p[0]))[0]

    def _predicted(self, index: int) -> tuple[float, float]:
        """Deviation and error if the node's own effect on the outputs were taken away too."""
        few = self._few
        outputs = [
            {name: _moved_by(now[name], was[name], alone[name]) for name in now}
            for now, was, alone in zip(
                self._current[: len(few.given)],
                few.given,
                self._singles.outputs[index],
                strict=True,
            )
        ]
        trial = few.judge(frozenset((*self.order, index)), outputs)
        return trial.deviation, trial.error


def _moved_by(now: Array, was: Array, alone: Array) -> Array:
    """What one change made to an output, made to the output as it is now; labels are left."""
    if now.dtype.kind != "f" or not now.shape == was.shape == alone.shape:
        return now
    return np.asarray(now + (alone - was))
