"""Trials: what becomes of the deviations when chosen nodes are computed in float.

An *evaluation* is one run of a candidate graph over all given inputs. The first ones exchange one
node each. The differences that they make to the outputs are added up to predict what several
nodes would make together, and further evaluations check, and correct, these predictions: to first
order in the errors, their effects on the outputs add up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from asterism.localisation.hybrids import hybrid
from asterism.localisation.quantised_nodes import MatchedPair, QuantisedNode
from asterism.localisation.running import Array, Run, Session, carried_outputs, side_by_side
from asterism.localisation.tensor_errors import TensorError, own_noise, tensor_errors

#: Outputs of one run, in the order of the original's outputs, by the original's names, without
#: carried states. Those of a stream are ``(n, calls, ...)``.
Outputs = Mapping[str, Array]
#: How far a model deviates on each input of a run: from the outputs of the original and of the
#: other model to an array of as many numbers as the run has inputs, 0 where it does not deviate.
Deviation = Callable[[Outputs, Outputs], Array]

#: Bytes that the outputs of all single trials may take, and runs between two checks of that.
_ROOM, _AT_ONCE = 400_000_000, 8


@dataclass(frozen=True)
class Trial:
    """What one candidate graph does.

    Attributes:
        floats: indices of the nodes in float.
        deviations: the deviation on each input, of all runs one after the other.
        error: squared error of the outputs, relative to the compressed model's; 0 is none left.
    """

    floats: frozenset[int]
    deviations: Array
    error: float

    @property
    def deviation(self) -> float:
        """Sum over the inputs."""
        return float(self.deviations.sum())


class Budget:
    """Evaluations that may still be spent."""

    def __init__(self, evaluations: int) -> None:
        self.left = evaluations
        self.spent = 0

    def take(self, wanted: int) -> int:
        """As many of the wanted evaluations as there are."""
        taken = min(wanted, self.left)
        self.left -= taken
        self.spent += taken
        return taken


class TrialRunner:
    """Runs candidate graphs on the same inputs and judges their outputs.

    Args:
        pair: the matched pair.
        feeds: inputs of runs.
        deviation: judges a run's outputs.
    """

    def __init__(self, pair: MatchedPair, feeds: Sequence[Run], deviation: Deviation) -> None:
        self.pair, self.feeds = pair, list(feeds)
        self.deviation = deviation
        opened = pair.opened
        states = carried_outputs(self.feeds)
        self._floats = [
            name
            for name in opened.original.outputs
            if name not in states
            and opened.original_types.get(name, "float") in ("float", "float16", "double")
        ]
        self.wanted = self.outputs(opened.original_file, "the original")
        self.given = self.outputs(opened.compressed_file, "the compressed model")
        self._noise = 1.0
        self._noise = self.judge(frozenset(), self.given).error or 1.0
        self.base = self.judge(frozenset(), self.given)

    def outputs(self, model: object, name: str) -> list[Outputs]:
        """A model's outputs of all runs, each with the states that this model carries itself."""
        session = Session(model, name)
        outputs = self.pair.opened.original.outputs
        names = dict(zip(outputs, session.output_types, strict=True))
        return [session.answers(run, names) for run in self.feeds]

    def judge(self, floats: frozenset[int], outputs: Sequence[Outputs]) -> Trial:
        """What given or predicted outputs amount to."""
        judged = [
            np.atleast_1d(np.asarray(self.deviation(wanted, given), np.float64))
            for wanted, given in zip(self.wanted, outputs, strict=True)
        ]
        noise = 0.0
        for wanted, given in zip(self.wanted, outputs, strict=True):
            for name in self._floats:
                difference = wanted[name].astype(np.float64) - given[name]
                noise += float(np.nan_to_num(np.square(difference), nan=np.inf).sum())
        return Trial(floats, np.concatenate(judged), noise / self._noise)

    def run(self, floats: Collection[int]) -> tuple[Trial, list[Outputs]]:
        """One evaluation: the graph with these nodes in float, on all inputs."""
        chosen = frozenset(floats)
        outputs = self.outputs(hybrid(self.pair, chosen), f"a graph with nodes {sorted(chosen)}")
        return self.judge(chosen, outputs), outputs

    def run_all(self, sets: Iterable[Collection[int]]) -> list[tuple[Trial, list[Outputs]]]:
        """Independent evaluations, side by side."""
        return side_by_side(self.run, list(sets))

    def singles(self, nodes: Sequence[int], least: int) -> SingleNodeTrials:
        """Evaluations with one node in float each.

        Args:
            nodes: indices into ``pair.nodes``.
            least: how many outputs are kept at least, whatever memory they take.
        """
        size = sum(value.nbytes for run in self.given for value in run.values())
        kept = max(least, _ROOM // max(1, size))
        found = SingleNodeTrials({}, {})
        for start in range(0, len(nodes), _AT_ONCE):
            part = nodes[start : start + _AT_ONCE]
            for index, (trial, outputs) in zip(part, self.run_all([i] for i in part), strict=True):
                found.trials[index], found.outputs[index] = trial, outputs
            while len(found.outputs) > kept:
                del found.outputs[max(found.outputs, key=found.rank)]
        return found


@dataclass(frozen=True)
class SingleNodeTrials:
    """Trials with one node in float each, by the node's index.

    Attributes:
        trials: what they do.
        outputs: their outputs; where memory does not suffice for all, of the best ones.
    """

    trials: dict[int, Trial]
    outputs: dict[int, list[Outputs]]

    def rank(self, index: int) -> tuple[float, float, int]:
        """Sorts the nodes whose trials leave the least first."""
        return self.trials[index].deviation, self.trials[index].error, index


@dataclass(frozen=True)
class RankedNode:
    """A quantised node and what it is to blame for.

    Attributes:
        index: in ``pair.nodes``.
        node: the quantised node.
        explained: share of the deviation that is gone with this node alone in float; negative
            where there is more then. None where the budget allowed no trial.
        error_explained: the same of the outputs' squared error.
        own: relative error of its output, where it takes the original's tensors.
    """

    index: int
    node: QuantisedNode
    explained: float | None
    error_explained: float | None
    own: float


@dataclass(frozen=True)
class Localisation:
    """What is to blame.

    Attributes:
        errors: of the tensors along the graph.
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


def localise(
    pair: MatchedPair,
    feeds: Sequence[Run],
    deviation: Deviation,
    evaluations: int,
    most: int | None = None,
    enough: float = 1.0,
) -> Localisation:
    """Find the nodes that make the deviations, and small sets of them that do away with it.

    Args:
        pair: the matched pair.
        feeds: inputs of runs, on which the models deviate.
        deviation: how far the outputs of a run deviate, per input.
        evaluations: runs of candidate graphs over all inputs.
        most: nodes of the largest set, a tenth of all where it is None.
        enough: the search ends when this share of the deviation is gone.
    """
    runner = TrialRunner(pair, feeds, deviation)
    budget = Budget(evaluations)
    budget.take(1)
    errors = tensor_errors(pair, feeds)
    noise = own_noise(pair, errors)
    wanted = max(1, -(-len(pair.nodes) // 10)) if most is None else most
    reserve = min(wanted, max(1, evaluations // 4))
    by_noise = sorted(range(len(pair.nodes)), key=lambda i: (-noise[i], i))
    single = by_noise[: budget.take(max(0, min(len(by_noise), budget.left - reserve)))]
    singles = runner.singles(single, wanted)
    ranking = [
        _ranked(pair, runner.base, i, singles.trials.get(i), noise[i])
        for i in range(len(pair.nodes))
    ]
    ranking.sort(key=_blame)
    greedy = _Greedy(runner, singles, noise)
    greedy.grow(budget, wanted, enough)
    return Localisation(errors, ranking, greedy.order, greedy.trials, budget.spent)


def _ranked(
    pair: MatchedPair, base: Trial, index: int, trial: Trial | None, noise: float
) -> RankedNode:
    if trial is None:
        return RankedNode(index, pair.nodes[index], None, None, noise)
    explained = 1 - trial.deviation / base.deviation if base.deviation else 0.0
    return RankedNode(index, pair.nodes[index], explained, 1 - trial.error, noise)


def _blame(ranked: RankedNode) -> tuple[float, ...]:
    """Order of the ranking: deviation explained, then error explained, then own error."""
    if ranked.explained is None or ranked.error_explained is None:
        return (1.0, 0.0, 0.0, -ranked.own, ranked.index)
    return (0.0, -ranked.explained, -ranked.error_explained, -ranked.own, ranked.index)


class _Greedy:
    """Adds to the set of float nodes the one after which the predicted deviation is smallest.

    Args:
        runner: where it is measured.
        singles: the trials with one node in float.
        noise: own errors, which order the nodes that were not tried.
    """

    def __init__(
        self, runner: TrialRunner, singles: SingleNodeTrials, noise: Sequence[float]
    ) -> None:
        self._runner = runner
        self._noise = noise
        self._singles = singles
        self.order: list[int] = []
        self.trials: list[Trial] = [runner.base]

    def grow(self, budget: Budget, most: int, enough: float) -> None:
        """Add nodes until enough of the deviation is gone; each step is measured."""
        current = self._runner.given
        base = self._runner.base.deviation
        while len(self.order) < min(most, len(self._runner.pair.nodes)):
            chosen = self._next(current)
            self.order.append(chosen)
            if len(self.order) == 1 and chosen in self._singles.outputs:
                trial, current = self._singles.trials[chosen], self._singles.outputs[chosen]
            elif budget.take(1):
                trial, current = self._runner.run(self.order)
            else:
                self.order.pop()
                return
            self.trials.append(trial)
            if base and 1 - trial.deviation / base >= enough:
                return

    def _next(self, current: Sequence[Outputs]) -> int:
        left = [i for i in range(len(self._noise)) if i not in self.order]
        tried = [i for i in left if i in self._singles.outputs]
        if not tried:
            return max(left, key=lambda i: (self._noise[i], -i))
        predicted = side_by_side(lambda i: self._predicted(i, current), tried)
        return min(zip(tried, predicted, strict=True), key=lambda p: (*p[1], p[0]))[0]

    def _predicted(self, index: int, current: Sequence[Outputs]) -> tuple[float, float]:
        """Deviation and error if the node's own effect on the outputs were taken away too."""
        outputs = [
            {name: _moved_by(now[name], was[name], alone[name]) for name in now}
            for now, was, alone in zip(
                current, self._runner.given, self._singles.outputs[index], strict=True
            )
        ]
        trial = self._runner.judge(frozenset((*self.order, index)), outputs)
        return trial.deviation, trial.error


def _moved_by(now: Array, was: Array, alone: Array) -> Array:
    """What one change made to an output, made to the output as it is now; labels are left."""
    if now.dtype.kind != "f" or now.shape != was.shape:
        return now
    return np.asarray(now + (alone - was))
