"""Repaired files: compressed models in which some nodes are in float or have finer scales."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from asterism.core.files.artifacts import replacing
from asterism.localisation.finer_scales import FinerScales, Precision
from asterism.localisation.hybrids import checked, hybrid
from asterism.localisation.quantised_nodes import MatchedPair
from asterism.localisation.running import Run, Session, first_call
from asterism.localisation.scales import observed_values
from asterism.localisation.tensor_errors import own_noise, tensor_errors
from asterism.localisation.trials import Deviation, Localisation, Trial, TrialRunner, localise

#: Runs of which the median is a file's latency.
_TIMED_RUNS = 15


@dataclass(frozen=True)
class RepairedFile:
    """One point of the curve from which an owner picks.

    Attributes:
        floats: indices of the nodes in float.
        finer: indices of the nodes that are quantised anew.
        bits: of the outputs of nodes that are quantised anew.
        finest: indices of the nodes among these whose weights have 16 bits.
        content: the file; ONNX' checker has nothing to say against it.
        gone: share of the deviation on the given inputs that is gone; negative where it grew.
        inputs: how many of the given inputs deviated before.
        remaining: deviation on the given inputs that is left.
        error: squared error of the outputs, relative to the compressed model's.
        float_share: nodes in float, as a share of the quantised nodes.
    """

    floats: tuple[int, ...]
    finer: tuple[int, ...]
    bits: int
    finest: tuple[int, ...]
    content: bytes
    gone: float
    inputs: int
    remaining: float
    error: float
    float_share: float

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self.content)

    @property
    def expected(self) -> float:
        """Share of the deviation that is expected to be gone on other inputs.

        Of few given inputs, the share that is gone says little: it is drawn towards one half, as
        the mean of a binomial share with Jeffreys' prior is. And of deviations near the boundary of
        a decision a share stays that is the size of the error, relative to what it was: an error of
        half the size moves half as many inputs across.
        """
        drawn = (self.gone * self.inputs + 0.5) / (self.inputs + 1)
        return min(self.gone, drawn, 1 - math.sqrt(max(0.0, self.error)))

    def write(self, path: Path) -> None:
        """Write the file."""
        with replacing(path) as temporary:
            temporary.write_bytes(self.content)


@dataclass(frozen=True)
class RepairCurve:
    """Repaired files, and what they are compared with.

    Attributes:
        pair: the matched pair.
        localisation: of the compressed model as it is.
        files: the points: the compressed model with nothing changed first.
        evaluations: runs of candidate graphs over all inputs that it took.
    """

    pair: MatchedPair
    localisation: Localisation
    files: list[RepairedFile]
    evaluations: int

    def smallest(self, gone: float, float_share: float = 1.0) -> RepairedFile | None:
        """The file with the fewest nodes in float, then the fewest changed, that repairs enough.

        Args:
            gone: share of the deviation that is expected to be gone.
            float_share: nodes that may be in float, as a share of the quantised nodes.
        """
        fitting = [f for f in self.files if f.expected >= gone and f.float_share <= float_share]
        return min(
            fitting,
            key=lambda f: (len(f.floats), len(f.finest), len(f.finer), f.size),
            default=None,
        )


def repair_curve(
    pair: MatchedPair,
    feeds: Sequence[Run],
    deviation: Deviation,
    evaluations: int,
    most: int | None = None,
    enough: float = 1.0,
    ordinary: Sequence[Run] | None = None,
) -> RepairCurve:
    """Localise, and build the repaired files.

    The points are: growing sets in float; the most blamed node with finer scales; all nodes with
    them, and growing sets in float beside these. Where none of them repairs enough, all nodes get
    finer scales and outputs of 16 bits; then weights of 16 bits as well, of all nodes, and of the
    fewest that are enough; then again growing sets in float.

    Args:
        pair: the matched pair.
        feeds: inputs of runs, on which the models deviate.
        deviation: how far the outputs of a run deviate, per input.
        evaluations: runs of candidate graphs over all inputs, for each series of growing sets.
        most: nodes of the largest set in float, a tenth of all where it is None.
        enough: a set grows until this share of the deviation is expected to be gone.
        ordinary: inputs of runs that ranges are measured on; ``feeds`` where it is None.
    """
    found = localise(pair, feeds, deviation, evaluations, most, enough)
    points = _Points(TrialRunner(pair, feeds, deviation), enough)
    points.spent += found.evaluations
    points.unchanged(found)
    values = observed_values(pair, feeds if ordinary is None else ordinary)
    both = [FinerScales(pair, values, clipped=clipped) for clipped in (True, False)]
    wide, widest = (FinerScales(pair, values, Precision(16, bits)) for bits in (8, 16))
    if both[0].possible:
        tried = [points.tried(scales, scales.possible) for scales in both]
        better = min((0, 1), key=lambda i: (tried[i].trial.deviation, tried[i].trial.error))
        blamed = [ranked.index for ranked in found.ranking]
        blamed = [index for index in blamed if index in both[better].possible][:1]
        if blamed != both[better].possible:
            points.keep(points.tried(both[better], blamed))
        points.keep(tried[better])
        if not points.has_enough:
            points.grow(tried[better], evaluations, most)
    if wide.possible and not points.has_enough:
        points.keep(points.tried(wide, wide.possible))
    if widest.possible and not points.has_enough:
        finest = points.keep(points.tried(wide, widest.possible, widest.possible, widest))
        if points.has_enough:
            _with_fewest(points, wide, widest)
        else:
            points.grow(finest, evaluations, most)
    return RepairCurve(pair, found, points.files, points.spent)


def _with_fewest(points: _Points, wide: FinerScales, widest: FinerScales) -> None:
    """Find by bisection how few nodes with weights of 16 bits are enough.

    Nodes are ordered by their own errors where only outputs have 16 bits: these are the errors of
    the weights, since those of outputs are smaller by far.
    """
    pair = wide.applied(wide.possible)
    noise = own_noise(pair, tensor_errors(pair, points.runner.feeds))
    points.spent += 1
    order = sorted(widest.possible, key=lambda i: (-noise[i], i))
    too_few, enough = 0, len(order)
    while enough - too_few > 1:
        size = (too_few + enough) // 2
        points.keep(points.tried(wide, widest.possible, order[:size], widest))
        if points.files[-1].expected >= points.enough:
            enough = size
        else:
            too_few = size


@dataclass(frozen=True)
class _Finer:
    """A pair with nodes that are quantised anew, and what that does."""

    pair: MatchedPair
    trial: Trial
    finer: tuple[int, ...]
    bits: int
    finest: tuple[int, ...]


class _Points:
    """The points of a curve while they are found.

    Args:
        runner: where candidates are measured.
        enough: share of the deviation that is to go.

    Attributes:
        runner: see above.
        enough: see above.
        files: the points.
        spent: evaluations.
    """

    def __init__(self, runner: TrialRunner, enough: float) -> None:
        self.runner, self.enough = runner, enough
        self.files: list[RepairedFile] = []
        self.spent = 0

    @property
    def has_enough(self) -> bool:
        """Whether a point repairs enough."""
        return any(file.expected >= self.enough for file in self.files)

    def unchanged(self, found: Localisation) -> None:
        """Make points of the pair as it was given, and of growing sets in float."""
        given = _Finer(self.runner.pair, self.runner.base, (), 8, ())
        for size, trial in enumerate(found.trials):
            self._add(given, found.order[:size], trial, trial.error)

    def tried(
        self,
        scales: FinerScales,
        chosen: Sequence[int],
        finest: Sequence[int] = (),
        widest: FinerScales | None = None,
    ) -> _Finer:
        """One evaluation: the pair with these nodes quantised anew, and what that does."""
        pair = scales.applied(chosen, finest, widest)
        content = checked(hybrid(pair, ()), "the model with finer scales")
        pair = replace(pair, opened=replace(pair.opened, compressed_file=content))
        outputs = self.runner.outputs(content, "the model with finer scales")
        self.spent += 1
        trial = self.runner.judge(frozenset(), outputs)
        bits = scales.precision.outputs
        return _Finer(pair, trial, tuple(chosen), bits, tuple(sorted(finest)))

    def keep(self, finer: _Finer) -> _Finer:
        """Make a point of finer scales that were tried."""
        self._add(finer, (), finer.trial, finer.trial.error)
        return finer

    def grow(self, finer: _Finer, evaluations: int, most: int | None) -> None:
        """Make points of growing sets in float beside finer scales."""
        found = localise(finer.pair, self.runner.feeds, self.runner.deviation, evaluations, most)
        self.spent += found.evaluations
        for size in range(1, len(found.trials)):
            trial = found.trials[size]
            self._add(finer, found.order[:size], trial, trial.error * finer.trial.error)
            if self.has_enough:
                break

    def _add(self, finer: _Finer, floats: Sequence[int], trial: Trial, error: float) -> None:
        pair, base = finer.pair, self.runner.base.deviation
        is_given = not floats and not finer.finer
        self.files.append(
            RepairedFile(
                tuple(floats),
                tuple(i for i in finer.finer if i not in floats),
                finer.bits,
                tuple(i for i in finer.finest if i not in floats),
                pair.opened.compressed_file
                if is_given
                else checked(hybrid(pair, floats), "a repaired file"),
                1 - trial.deviation / base if base else 0.0,
                int(np.count_nonzero(self.runner.base.deviations)),
                trial.deviation,
                error,
                len(floats) / len(pair.nodes) if pair.nodes else 0.0,
            )
        )


def latency(content: bytes, run: Run) -> float:
    """Median seconds of the first call of a run of a file, by one thread, after two to warm up."""
    session, feed = Session(content, "the file"), first_call(run)
    for _ in range(2):
        session.run(feed)
    seconds = []
    for _ in range(_TIMED_RUNS):
        started = time.perf_counter()
        session.run(feed)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def judged(
    content: bytes, pair: MatchedPair, feeds: Sequence[Run], deviation: Deviation
) -> tuple[Trial, Trial]:
    """What a repaired file does on other inputs, such as ones that were held out.

    Returns:
        Deviations of the compressed model as it was given, and of the file.
    """
    runner = TrialRunner(pair, feeds, deviation)
    outputs = runner.outputs(content, "the repaired file")
    return runner.base, runner.judge(frozenset(), outputs)
