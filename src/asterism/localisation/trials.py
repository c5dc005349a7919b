"""Trials: how many deviations disappear when chosen nodes are computed in float."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from asterism.localisation.hybrids import hybrid_model
from asterism.localisation.quantised_nodes import MatchedPair
from asterism.localisation.running import Array, Run, Session, carried_outputs, run_in_threads

#: Outputs of one run, in the order of the original's outputs, by the original's names, without
#: carried states. Those of a stream are ``(n, calls, ...)``.
Outputs = Mapping[str, Array]
#: How far a model deviates on each input of a run: from the outputs of the original and of the
#: other model to an array of as many numbers as the run has inputs, 0 where it does not deviate.
Deviation = Callable[[Outputs, Outputs], Array]

#: Bytes that the outputs of all single trials may take, and runs between two checks of that.
_ROOM, _AT_ONCE = 400_000_000, 8


#: The squared error of a value that is not finite: beyond all others, and still a number.
_LOST = 1e30


@dataclass(frozen=True)
class Trial:
    """The result of one candidate graph.

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
        """The sum of the deviations over the inputs."""
        return float(self.deviations.sum())


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
        self._calibrate()

    def first(self, runs: int) -> TrialRunner:
        """A runner on the first runs alone."""
        few = copy(self)
        few.feeds = self.feeds[:runs]
        few.wanted, few.given = self.wanted[:runs], self.given[:runs]
        few._calibrate()
        return few

    def _calibrate(self) -> None:
        """Judge the compressed model, whose squared error is 1 from now on."""
        self._noise = 1.0
        self._noise = self.judge(frozenset(), self.given).error or 1.0
        self.base = self.judge(frozenset(), self.given)

    def outputs(self, model: object, name: str, *, alone: bool = True) -> list[Outputs]:
        """A model's outputs of all runs, each with the states that this model carries itself.

        Args:
            model: serialised, or an ``onnx.ModelProto``.
            name: of the model, for messages.
            alone: whether no other model runs meanwhile, so that all processors are this one's.
        """
        session = Session(model, name)
        outputs = self.pair.opened.original.outputs
        names = dict(zip(outputs, session.output_types, strict=True))
        if alone:
            return run_in_threads(lambda run: session.answers(run, names), self.feeds)
        return [session.answers(run, names) for run in self.feeds]

    def judge(self, floats: frozenset[int], outputs: Sequence[Outputs]) -> Trial:
        """The trial that measured or predicted outputs amount to."""
        judged = [
            np.atleast_1d(np.asarray(self.deviation(wanted, given), np.float64))
            for wanted, given in zip(self.wanted, outputs, strict=True)
        ]
        noise = 0.0
        for wanted, given in zip(self.wanted, outputs, strict=True):
            noise += sum(squared_error(wanted[name], given[name]) for name in self._floats)
        return Trial(floats, np.concatenate(judged), noise / self._noise)

    def run(self, floats: Collection[int], *, alone: bool = True) -> tuple[Trial, list[Outputs]]:
        """One evaluation: the graph with these nodes in float, on all inputs."""
        chosen = frozenset(floats)
        name = f"a graph with nodes {sorted(chosen)}"
        outputs = self.outputs(hybrid_model(self.pair, chosen), name, alone=alone)
        return self.judge(chosen, outputs), outputs

    def run_all(self, sets: Iterable[Collection[int]]) -> list[tuple[Trial, list[Outputs]]]:
        """Independent evaluations, side by side."""
        return run_in_threads(lambda floats: self.run(floats, alone=False), list(sets))

    def singles(self, nodes: Sequence[int], least: int) -> SingleNodeTrials:
        """Evaluations with one node in float each, side by side.

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
        """Sort key of a node: the deviation that is left with this node in float."""
        return self.trials[index].deviation, self.trials[index].error, index


def squared_error(wanted: Array, given: Array) -> float:
    """The sum of the squared differences of two outputs, which may have unlike numbers of rows.

    A row that only one of them has differs by all of its values. A value that is not finite counts
    as 1e30.
    """
    wanted, given = (np.atleast_1d(output).astype(np.float64) for output in (wanted, given))
    rows = min(len(wanted), len(given))
    parts = (wanted[:rows] - given[:rows], wanted[rows:], given[rows:])
    squares = (np.square(part) for part in parts)
    return float(sum(np.nan_to_num(part, nan=_LOST, posinf=_LOST).sum() for part in squares))
