"""Fitness rules: whether a mutant replaces the best one so far.

The paper's fitness is ``H(x) = D(x) / delta + O(x)``: D is the distance of the two models' top-1
probabilities, and O is 1 where the pair ``(f(x), g(x))`` has not been observed before. The other
rules are Dflare_D, the aim at consequence, and the released code's.

Two things the paper leaves open. O(x) is 1 where no pair of outputs ``(f, g)`` that the trajectory
has observed lies within a threshold of x's own (section 3.3.2), and no threshold is stated. And
how Dflare_D, which looks at D alone, accepts a mutant (section 5.3): its Algorithm 1 has "at
least", its fitness counts in units of delta, and the released code asks whether D has changed.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.registry import Registry

Outputs = NDArray[np.float32]
Rows = NDArray[np.int64]
Gains = NDArray[np.float64]


class Fitness(ABC):
    """Judges mutants of many trajectories, each by its own history.

    Args:
        trajectories: how many there are.
        delta: distances that differ by no more count as equal.
        novelty: distance in the space of both models' outputs, from all observed ones, from which
            outputs count as unobserved; for the rules that look for the nearest.
    """

    #: Whether the search looks for consequential deviations only, so that in the place of D stands
    #: how near a mutant is to one.
    aims_at_consequence: ClassVar[bool] = False
    #: Whether the best can be replaced by a mutant that is equal to it.
    unchanged_may_replace: ClassVar[bool] = False

    def __init__(self, trajectories: int, delta: float, novelty: float = 0.0) -> None:
        self.delta = delta
        self.novelty = novelty

    @abstractmethod
    def start(self, trajectories: Rows, outputs: Outputs) -> None:
        """Record both models' outputs for the trajectories' seeds, ``(t, 2 * K)``."""

    @abstractmethod
    def replaces(self, owners: Rows, gains: Gains, outputs: Outputs) -> NDArray[np.bool_]:
        """Which mutants replace the best of their trajectory, unless an earlier one did.

        Args:
            owners: the trajectory of each, int64 ``(n,)``; a trajectory's are in their order.
            gains: by how much each one's D is above that of the best, float64 ``(n,)``.
            outputs: outputs of the original and of the compressed model, ``(n, 2 * K)``.
        """

    @abstractmethod
    def observe(self, owners: Rows, gains: Gains, outputs: Outputs) -> None:
        """Record mutants that count; arguments as for :meth:`replaces`.

        Of a trajectory's mutants these are all up to the first that replaces the best.
        """


FITNESSES: Registry[type[Fitness]] = Registry("fitness")


@FITNESSES.register("paper")
class PaperFitness(Fitness):
    """Accepts a D larger by more than delta, or an equal one (within delta) with new outputs.

    Outputs count as observed where the very same bytes have been: nearly never. The paper asks
    for a nearest neighbour, see :class:`NearestNeighbourFitness`.
    """

    def __init__(self, trajectories: int, delta: float, novelty: float = 0.0) -> None:
        super().__init__(trajectories, delta, novelty)
        self._observed: set[bytes] = set()

    def start(self, trajectories: Rows, outputs: Outputs) -> None:
        """See :meth:`Fitness.start`."""
        self._observed.update(_keys(trajectories, outputs))

    def replaces(self, owners: Rows, gains: Gains, outputs: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Fitness.replaces`."""
        replacing = gains > self.delta
        keys, observed = _keys(owners, outputs), self._observed
        equal = np.flatnonzero(~replacing & (gains >= -self.delta))
        replacing[equal] = [keys[row] not in observed for row in equal.tolist()]
        if (owners[1:] == owners[:-1]).any():  # what came earlier in the batch is observed too
            backwards = range(len(keys) - 1, -1, -1)
            first = dict(zip(reversed(keys), backwards, strict=True))
            replacing[equal] &= np.array([first[keys[row]] == row for row in equal.tolist()], bool)
        return replacing

    def observe(self, owners: Rows, gains: Gains, outputs: Outputs) -> None:
        """See :meth:`Fitness.observe`."""
        self._observed.update(_keys(owners, outputs))


@FITNESSES.register("consequence")
class ConsequenceFitness(PaperFitness):
    """The paper's rule, with nearness to a consequential deviation in place of D.

    See :class:`asterism.dflare.consequence.Consequence`.
    """

    aims_at_consequence: ClassVar[bool] = True


#: Squared distance from which the released code takes outputs for unobserved.
_RELEASED_NOVELTY = 0.5


@FITNESSES.register("released")
class ReleasedFitness(Fitness):
    """The rule of the released code, in place of the paper's.

    A mutant replaces the best when its D *changes* by more than delta, be it larger or smaller;
    within delta, when its outputs are at least a squared distance of 0.5 from all observed ones.
    """

    #: The outputs of what replaced the best by another D were not noted as observed.
    unchanged_may_replace: ClassVar[bool] = True

    def __init__(self, trajectories: int, delta: float, novelty: float = 0.0) -> None:
        super().__init__(trajectories, delta, novelty)
        self._observed: list[list[Outputs]] = [[] for _ in range(trajectories)]

    def start(self, trajectories: Rows, outputs: Outputs) -> None:
        """See :meth:`Fitness.start`."""
        for trajectory, own in zip(trajectories.tolist(), outputs, strict=True):
            self._observed[trajectory].append(own)

    def replaces(self, owners: Rows, gains: Gains, outputs: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Fitness.replaces`."""
        replacing = np.abs(gains) > self.delta
        replacing[self._new(owners, gains, outputs)] = True
        return replacing

    def observe(self, owners: Rows, gains: Gains, outputs: Outputs) -> None:
        """See :meth:`Fitness.observe`."""
        for row in self._new(owners, gains, outputs):
            self._observed[owners[row]].append(outputs[row])

    def _new(self, owners: Rows, gains: Gains, outputs: Outputs) -> list[int]:
        """The rows of unobserved outputs whose D is that of the best within delta."""
        found = []
        for row in np.flatnonzero(np.abs(gains) <= self.delta).tolist():
            squared = ((np.array(self._observed[owners[row]]) - outputs[row]) ** 2).sum(axis=1)
            if squared.min() > _RELEASED_NOVELTY:
                found.append(row)
        return found


#: Bytes of outputs that are a key themselves.
_LARGEST_KEY = 4096


def _keys(owners: Rows, outputs: Outputs) -> list[bytes]:
    """What tells outputs of a trajectory apart from its others and from all other trajectories'.

    Of long outputs it is their digest: all keys are kept.
    """
    if outputs.nbytes > _LARGEST_KEY * len(outputs):
        rows = zip(owners.astype(np.int64), np.ascontiguousarray(outputs), strict=True)
        return [hashlib.sha256(owner.tobytes() + row.data).digest() for owner, row in rows]
    parts = [owners.astype(np.int64)[:, np.newaxis], outputs]
    raw = np.concatenate([np.ascontiguousarray(part).view(np.uint8) for part in parts], axis=1)
    keys: list[bytes] = raw.view(f"V{raw.shape[1]}")[:, 0].tolist()
    return keys


class _Distances(Fitness):
    """Remembers nothing."""

    def start(self, trajectories: Rows, outputs: Outputs) -> None:
        """See :meth:`Fitness.start`."""

    def replaces(self, owners: Rows, gains: Gains, outputs: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Fitness.replaces`."""
        return self._accepts(gains)

    @abstractmethod
    def _accepts(self, gains: Gains) -> NDArray[np.bool_]:
        """Which gains of D suffice."""

    def observe(self, owners: Rows, gains: Gains, outputs: Outputs) -> None:
        """See :meth:`Fitness.observe`."""


@FITNESSES.register("distance_only")
class LargerDistanceFitness(_Distances):
    """Dflare_D: accepts any larger D; delta is not used."""

    def _accepts(self, gains: Gains) -> NDArray[np.bool_]:
        return gains > 0


@FITNESSES.register("distance_at_least")
class DistanceAtLeastFitness(_Distances):
    """Dflare_D: accepts a D at least as large (Algorithm 1, line 6); delta is not used."""

    unchanged_may_replace: ClassVar[bool] = True

    def _accepts(self, gains: Gains) -> NDArray[np.bool_]:
        return gains >= 0


@FITNESSES.register("distance_by_delta")
class DistanceByDeltaFitness(_Distances):
    """Dflare_D: accepts a D that is larger by more than delta."""

    def _accepts(self, gains: Gains) -> NDArray[np.bool_]:
        return gains > self.delta


@FITNESSES.register("distance_changed")
class DistanceChangedFitness(_Distances):
    """Dflare_D: accepts a D that differs by more than delta, larger or smaller."""

    def _accepts(self, gains: Gains) -> NDArray[np.bool_]:
        return np.abs(gains) > self.delta


#: Outputs that are compared with all observed ones at once.
_AT_ONCE = 256


@FITNESSES.register("nearest_neighbour")
class NearestNeighbourFitness(Fitness):
    """A larger D by more than delta, or an equal one (within delta) with unobserved outputs."""

    def __init__(self, trajectories: int, delta: float, novelty: float = 0.0) -> None:
        super().__init__(trajectories, delta, novelty)
        self._observed: dict[int, list[Outputs]] = {}

    def start(self, trajectories: Rows, outputs: Outputs) -> None:
        """See :meth:`Fitness.start`."""
        self._add(trajectories, outputs)

    def replaces(self, owners: Rows, gains: Gains, outputs: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Fitness.replaces`."""
        equal = np.abs(gains) <= self.delta
        return (gains > self.delta) | (equal & self._unobserved(owners, outputs))

    def observe(self, owners: Rows, gains: Gains, outputs: Outputs) -> None:
        """See :meth:`Fitness.observe`."""
        self._add(owners, outputs)

    def _add(self, owners: Rows, outputs: Outputs) -> None:
        for owner in np.unique(owners).tolist():
            self._observed.setdefault(owner, []).append(outputs[owners == owner])

    def _unobserved(self, owners: Rows, outputs: Outputs) -> NDArray[np.bool_]:
        """O(x): farther than ``novelty`` from all observed outputs, and from earlier rows."""
        from scipy.spatial.distance import cdist  # here, because other fitnesses need none of it

        found = np.zeros(len(owners), np.bool_)
        for owner in np.unique(owners).tolist():
            (rows,) = np.nonzero(owners == owner)
            own, observed = outputs[rows], np.concatenate(self._observed[owner])
            for start in range(0, len(rows), _AT_ONCE):
                part = own[start : start + _AT_ONCE]
                far = (cdist(part, observed) > self.novelty).all(axis=1)
                earlier = cdist(part, own[: start + len(part)]) <= self.novelty
                before = np.arange(earlier.shape[1]) < start + np.arange(len(part))[:, np.newaxis]
                found[rows[start : start + len(part)]] = far & ~(earlier & before).any(axis=1)
        return found


@FITNESSES.register("formula")
class FormulaFitness(NearestNeighbourFitness):
    """Accepts H(x) = D(x) / delta + O(x) at least as large as the best's (Algorithm 1, line 6)."""

    unchanged_may_replace: ClassVar[bool] = True

    def __init__(self, trajectories: int, delta: float, novelty: float = 0.0) -> None:
        super().__init__(trajectories, delta, novelty)
        #: O of each trajectory's best; its seed was unobserved.
        self._of_best = np.ones(trajectories)

    def replaces(self, owners: Rows, gains: Gains, outputs: Outputs) -> NDArray[np.bool_]:
        """See :meth:`Fitness.replaces`."""
        return self._at_least(owners, gains, self._unobserved(owners, outputs))

    def observe(self, owners: Rows, gains: Gains, outputs: Outputs) -> None:
        """See :meth:`Fitness.observe`."""
        unobserved = self._unobserved(owners, outputs)
        replacing = self._at_least(owners, gains, unobserved)
        self._of_best[owners[replacing]] = unobserved[replacing]
        self._add(owners, outputs)

    def _at_least(
        self, owners: Rows, gains: Gains, unobserved: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        return gains + self.delta * (unobserved - self._of_best[owners]) >= 0
