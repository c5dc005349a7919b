"""Repaired files: compressed models in which some nodes are in float or have finer scales."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from asterism.core.files.artifacts import replacing
from asterism.localisation.finer_scales import FinerScales
from asterism.localisation.hybrids import checked, hybrid
from asterism.localisation.quantised_nodes import MatchedPair
from asterism.localisation.running import Run, Session, first_call
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
        content: the file; ONNX' checker has nothing to say against it.
        gone: share of the deviation on the given inputs that is gone; negative where it grew.
        remaining: deviation on the given inputs that is left.
        error: squared error of the outputs, relative to the compressed model's.
        float_share: nodes in float, as a share of the quantised nodes.
    """

    floats: tuple[int, ...]
    finer: tuple[int, ...]
    bits: int
    content: bytes
    gone: float
    remaining: float
    error: float
    float_share: float

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self.content)

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
            gone: share of the deviation that must be gone.
            float_share: nodes that may be in float, as a share of the quantised nodes.
        """
        fitting = [f for f in self.files if f.gone >= gone and f.float_share <= float_share]
        return min(fitting, key=lambda f: (len(f.floats), len(f.finer), f.size), default=None)


def repair_curve(
    pair: MatchedPair,
    feeds: Sequence[Run],
    deviation: Deviation,
    evaluations: int,
    most: int | None = None,
    enough: float = 1.0,
) -> RepairCurve:
    """Localise, and build the repaired files.

    The points are: growing sets in float; the most blamed node with finer scales; all nodes with
    them, and growing sets in float beside these. Where none of them repairs enough, all nodes
    get finer scales and outputs of 16 bits, again with growing sets in float.

    Args:
        pair: the matched pair.
        feeds: inputs of runs, on which the models deviate.
        deviation: how far the outputs of a run deviate, per input.
        evaluations: runs of candidate graphs over all inputs, for each series of growing sets.
        most: nodes of the largest set in float, a tenth of all where it is None.
        enough: a set grows until this share of the deviation is gone.
    """
    found = localise(pair, feeds, deviation, evaluations, most, enough)
    runner = TrialRunner(pair, feeds, deviation)
    base = runner.base
    spent = found.evaluations
    files = [_point(pair, (), (), base, base)]
    for size in range(1, len(found.trials)):
        files.append(_point(pair, tuple(found.order[:size]), (), found.trials[size], base))
    first = [ranked.index for ranked in found.ranking]
    for bits in (8, 16):
        both = [FinerScales(pair, feeds, bits, clipped=clipped) for clipped in (True, False)]
        if bits == 16 and (not both[0].has_ranges or max(f.gone for f in files) >= enough):
            break
        if not both[0].possible:
            continue
        tried = [_finer(runner, scales, scales.possible) for scales in both]
        spent += len(tried)
        best = min((0, 1), key=lambda i: (tried[i][1].deviation, tried[i][1].error))
        blamed = [index for index in first if index in both[best].possible][:1]
        if bits == 8 and blamed != both[best].possible:
            alone, trial = _finer(runner, both[best], blamed)
            spent += 1
            files.append(_point(alone, (), tuple(blamed), trial, base, bits))
        other, trial = tried[best]
        finer = tuple(both[best].possible)
        files.append(_point(other, (), finer, trial, base, bits))
        if _gone(trial, base) >= enough:
            continue
        again = localise(other, feeds, deviation, evaluations, most)
        spent += again.evaluations
        for size in range(1, len(again.trials)):
            floats = tuple(again.order[:size])
            left = tuple(i for i in finer if i not in floats)
            point = replace(again.trials[size], error=again.trials[size].error * trial.error)
            files.append(_point(other, floats, left, point, base, bits))
            if _gone(point, base) >= enough:
                break
    return RepairCurve(pair, found, files, spent)


def _finer(
    runner: TrialRunner, scales: FinerScales, chosen: Sequence[int]
) -> tuple[MatchedPair, Trial]:
    """One evaluation: the pair with these nodes quantised anew, and what that does."""
    pair = scales.applied(chosen)
    content = checked(hybrid(pair, ()), "the model with finer scales")
    pair = replace(pair, opened=replace(pair.opened, compressed_file=content))
    outputs = runner.outputs(content, "the model with finer scales")
    return pair, runner.judge(frozenset(), outputs)


def _gone(trial: Trial, base: Trial) -> float:
    return 1 - trial.deviation / base.deviation if base.deviation else 0.0


def _point(
    pair: MatchedPair,
    floats: tuple[int, ...],
    finer: tuple[int, ...],
    trial: Trial,
    base: Trial,
    bits: int = 8,
) -> RepairedFile:
    is_changed = bool(floats or finer)
    content = (
        checked(hybrid(pair, floats), "a repaired file")
        if is_changed
        else pair.opened.compressed_file
    )
    share = len(floats) / len(pair.nodes) if pair.nodes else 0.0
    gone = _gone(trial, base)
    return RepairedFile(floats, finer, bits, content, gone, trial.deviation, trial.error, share)


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
