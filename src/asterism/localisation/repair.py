"""Repaired files: compressed models in which some nodes are in float or have finer scales."""

from __future__ import annotations

import hashlib
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from asterism.core.files.artifacts import replacing
from asterism.localisation.finer_scales import FinerScales, Precision
from asterism.localisation.hybrids import hybrid_model, serialise_checked
from asterism.localisation.localising import BlamedNodes, Localisation
from asterism.localisation.quantised_nodes import MatchedPair
from asterism.localisation.running import Array, Run, Session, first_call
from asterism.localisation.scales import collect_observed_values
from asterism.localisation.tensor_errors import measure_own_noise, measure_tensor_errors
from asterism.localisation.trials import Deviation, Trial, TrialRunner

#: Runs of which the median is a file's latency, at most.
_TIMED_RUNS = 15


@dataclass(frozen=True)
class RepairedFile:
    """A repaired file: one point of the repair curve.

    Attributes:
        floats: indices of the nodes in float.
        finer: indices of the nodes that are quantised anew.
        bits: the bits of the outputs of nodes that are quantised anew.
        finest: indices of the nodes among these whose weights have 16 bits.
        content: the file; ONNX' checker has nothing to say against it.
        gone: share of the deviation on the given inputs that is gone; negative where it grew.
        inputs: how many of the given inputs deviated before.
        remaining: deviation on the given inputs that is left.
        error: squared error of the outputs, relative to the compressed model's.
        float_share: nodes in float, as a share of the quantised nodes.
        kept: share of the deviations that is gone on ordinary inputs, new ones counted against it,
            at the cautious end of what was counted; None where that was not asked.
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
    kept: float | None = None

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
        half the size moves half as many inputs across. Where outputs matter unequally, the size
        of the error says little, and what was counted on ordinary inputs may say more.
        """
        by_error = 1 - math.sqrt(max(0.0, self.error))
        return min(self.promised, by_error if self.kept is None else max(by_error, self.kept))

    @property
    def promised(self) -> float:
        """The share of deviations like the given ones that is expected to be gone."""
        return min(self.gone, (self.gone * self.inputs + 0.5) / (self.inputs + 1))

    def write(self, path: Path) -> None:
        """Write the file."""
        with replacing(path) as temporary:
            temporary.write_bytes(self.content)


@dataclass(frozen=True)
class RepairCurve:
    """Repaired files of different sizes, and the files they are compared with.

    Attributes:
        pair: the matched pair.
        localisation: the localisation of the compressed model as it is.
        files: the points: the compressed model with nothing changed first.
        evaluations: runs of candidate graphs over all inputs that it took.
    """

    pair: MatchedPair
    localisation: Localisation
    files: list[RepairedFile]
    evaluations: int

    def smallest(self, gone: float, most: int | None = None, bits: int = 16) -> RepairedFile | None:
        """The file with the fewest nodes in float, then the fewest changed, that repairs enough.

        Args:
            gone: share of the deviation that is expected to be gone.
            most: nodes that may be in float, all where it is None.
            bits: of the outputs of nodes that are quantised anew, at most.
        """
        fitting = [
            f
            for f in self.files
            if f.expected >= gone and f.bits <= bits and (most is None or len(f.floats) <= most)
        ]
        return min(
            fitting,
            key=lambda f: (len(f.floats), len(f.finest), len(f.finer), f.size),
            default=None,
        )


def count_allowed_floats(nodes: int, share: float) -> int:
    """How many of the quantised nodes may be in float: the given share, but at least one."""
    return max(1, int(share * nodes + 1e-9))


def build_repair_curve(
    pair: MatchedPair,
    feeds: Sequence[Run],
    deviation: Deviation,
    evaluations: int,
    most: int | None = None,
    enough: float = 1.0,
    ordinary: Sequence[Run] = (),
) -> RepairCurve:
    """Localise, and build the repaired files.

    The points are: the most blamed node in float; this node with finer scales; all nodes with
    them: new weights alone, then new ranges too. Where none of them repairs enough, growing sets in
    float, as the file is and beside the finer scales. Then all nodes get finer scales and
    outputs of 16 bits; then weights of 16 bits as well, of all nodes, and of the fewest that are
    enough; then again growing sets in float.

    Args:
        pair: the matched pair.
        feeds: inputs of runs, on which the models deviate.
        deviation: how far the outputs of a run deviate, per input.
        evaluations: runs of candidate graphs over all inputs, for each series of growing sets.
        most: nodes of the largest set in float, a tenth of all where it is None.
        enough: a set grows until this share of the deviation is expected to be gone.
        ordinary: further inputs of runs, as they come in use. Ranges are measured on them too.
    """
    points = _Points(TrialRunner(pair, feeds, deviation), enough, ordinary)
    blame = BlamedNodes(points.runner, evaluations, most)
    given = points.keep(_Finer(pair, points.runner.base, (), 8, ()))
    found = points.grow(given, blame, 1)
    values = collect_observed_values(pair, [*feeds, *ordinary])
    finer = _best_of_8_bits(points, found, values)
    found = points.grow(given, blame)
    points.spent += found.evaluations
    if finer is not None and not points.has_enough:
        _grown_beside(points, finer, evaluations, most)
    if not points.has_enough:
        _with_16_bits(points, values, evaluations, most)
    return RepairCurve(pair, found, points.files, points.spent)


def _best_of_8_bits(
    points: _Points, found: Localisation, values: Mapping[str, Array]
) -> _Finer | None:
    """The best of the files in which all nodes are quantised anew; None where none can be."""
    pair, tried = points.runner.pair, dict[FinerScales, _Finer]()
    for ranges in ("kept", "clipped", "whole"):
        scales = FinerScales(pair, values, ranges=ranges)
        if scales.possible:
            tried[scales] = points.tried(scales, scales.possible)
            if points.is_enough(tried[scales]):
                break
    if not tried:
        return None
    best = min(tried, key=lambda one: (tried[one].trial.deviation, tried[one].trial.error))
    blamed = [entry.index for entry in found.ranking if entry.index in best.possible][:1]
    if blamed != best.possible:
        points.keep(points.tried(best, blamed))
    return points.keep(tried[best])


def _with_16_bits(
    points: _Points, values: Mapping[str, Array], evaluations: int, most: int | None
) -> None:
    wide, widest = (
        FinerScales(points.runner.pair, values, Precision(16, bits)) for bits in (8, 16)
    )
    if wide.possible:
        points.keep(points.tried(wide, wide.possible))
    if widest.possible and not points.has_enough:
        finest = points.keep(points.tried(wide, widest.possible, widest.possible, widest))
        if points.has_enough:
            _with_fewest(points, wide, widest)
        else:
            _grown_beside(points, finest, evaluations, most)


def _grown_beside(points: _Points, finer: _Finer, evaluations: int, most: int | None) -> None:
    """Make points of growing sets in float beside finer scales."""
    runner = TrialRunner(finer.pair, points.runner.feeds, points.runner.deviation)
    points.spent += points.grow(finer, BlamedNodes(runner, evaluations, most)).evaluations


def _with_fewest(points: _Points, wide: FinerScales, widest: FinerScales) -> None:
    """Find by bisection how few nodes with weights of 16 bits are enough, to a sixteenth of all.

    Nodes are ordered by their own errors where only outputs have 16 bits: these are the errors of
    the weights, since those of outputs are smaller by far.
    """
    pair = wide.applied(wide.possible)
    noise = measure_own_noise(pair, measure_tensor_errors(pair, points.runner.feeds))
    points.spent += 1
    order = sorted(widest.possible, key=lambda i: (-noise[i], i))
    too_few, enough = 0, len(order)
    while enough - too_few > max(1, len(order) // 16):
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
        ordinary: inputs of runs, as they come in use.

    Attributes:
        runner: see above.
        enough: see above.
        files: the points.
        spent: evaluations.
    """

    def __init__(self, runner: TrialRunner, enough: float, ordinary: Sequence[Run] = ()) -> None:
        self.runner, self.enough = runner, enough
        self.files: list[RepairedFile] = []
        self.spent = 0
        self._ordinary = list(ordinary)
        self._known: dict[str, Trial] = {}

    @property
    def has_enough(self) -> bool:
        """Whether a point repairs enough."""
        return any(file.expected >= self.enough for file in self.files)

    def tried(
        self,
        scales: FinerScales,
        chosen: Sequence[int],
        finest: Sequence[int] = (),
        widest: FinerScales | None = None,
    ) -> _Finer:
        """One evaluation: the pair with these nodes quantised anew, and what that does."""
        pair = scales.applied(chosen, finest, widest)
        content = serialise_checked(hybrid_model(pair, ()), "the model with finer scales")
        pair = replace(pair, opened=replace(pair.opened, compressed_file=content))
        key = hashlib.sha256(content).hexdigest()
        if key not in self._known:
            outputs = self.runner.outputs(content, "the model with finer scales")
            self.spent += 1
            self._known[key] = self.runner.judge(frozenset(), outputs)
        trial = self._known[key]
        bits = scales.precision.outputs
        return _Finer(pair, trial, tuple(chosen), bits, tuple(sorted(finest)))

    def keep(self, finer: _Finer) -> _Finer:
        """Make a point of finer scales that were tried."""
        self._add(finer, (), finer.trial, finer.trial.error)
        return finer

    def grow(self, finer: _Finer, blame: BlamedNodes, most: int | None = None) -> Localisation:
        """Make points of growing sets in float beside finer scales, until one is enough.

        Args:
            finer: what the sets grow in: the pair as it was given, or with finer scales.
            blame: of the same pair.
            most: nodes of the largest set, as many as ``blame`` allows where it is None.

        Returns:
            What was found on the way.
        """
        found = blame.grown(1.0, 0)
        while not self.has_enough and (most is None or len(found.order) < most):
            known = len(found.trials)
            found = blame.grown(1.0, known)
            if len(found.trials) == known:
                break
            trial = found.trials[known]
            self._add(finer, found.order[:known], trial, trial.error * finer.trial.error)
        return found

    def is_enough(self, finer: _Finer) -> bool:
        """Whether finer scales repair enough."""
        return self._file(finer, (), finer.trial, finer.trial.error).expected >= self.enough

    def _add(self, finer: _Finer, floats: Sequence[int], trial: Trial, error: float) -> None:
        self.files.append(self._file(finer, floats, trial, error))

    def _file(
        self, finer: _Finer, floats: Sequence[int], trial: Trial, error: float
    ) -> RepairedFile:
        pair, base = finer.pair, self.runner.base.deviation
        is_given = not floats and not finer.finer
        file = RepairedFile(
            tuple(floats),
            tuple(i for i in finer.finer if i not in floats),
            finer.bits,
            tuple(i for i in finer.finest if i not in floats),
            pair.opened.compressed_file
            if is_given
            else serialise_checked(hybrid_model(pair, floats), "a repaired file"),
            1 - trial.deviation / base if base else 0.0,
            int(np.count_nonzero(self.runner.base.deviations)),
            trial.deviation,
            error,
            len(floats) / len(pair.nodes) if pair.nodes else 0.0,
        )
        if file.expected < self.enough <= file.promised:
            return replace(file, kept=self._kept(file.content))
        return file

    @cached_property
    def _as_they_come(self) -> TrialRunner:
        return TrialRunner(self.runner.pair, self._ordinary, self.runner.deviation)

    def _kept(self, content: bytes) -> float | None:
        """Share of the deviations on ordinary inputs that is gone, cautiously."""
        if not self._ordinary:
            return None
        runner = self._as_they_come
        trial = runner.judge(frozenset(), runner.outputs(content, "a repaired file"))
        before, after = (np.count_nonzero(t.deviations) for t in (runner.base, trial))
        return 1 - float(after + 1 + math.sqrt(after)) / before if before else None


def measure_latency(content: bytes, run: Run) -> float:
    """Median seconds of the first call of a run of a file, by one thread.

    Fifteen calls after two to warm up; three at least, where they take more than a second in all.
    """
    session, feed = Session(content, "the file"), first_call(run)
    for _ in range(2):
        session.run(feed)
    seconds: list[float] = []
    while len(seconds) < _TIMED_RUNS and (len(seconds) < 3 or sum(seconds) < 1):
        started = time.perf_counter()
        session.run(feed)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def judge_repaired_file(
    content: bytes, pair: MatchedPair, feeds: Sequence[Run], deviation: Deviation
) -> tuple[Trial, Trial]:
    """How a repaired file does on other inputs, such as held-out ones.

    Returns:
        Deviations of the compressed model as it was given, and of the file.
    """
    runner = TrialRunner(pair, feeds, deviation)
    outputs = runner.outputs(content, "the repaired file")
    return runner.base, runner.judge(frozenset(), outputs)
