"""The paper's rule by equal outputs, the aim at consequence, and what the released code does."""

from __future__ import annotations

import hashlib
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.dflare.fitness import FITNESSES, Fitness, Gains, Outputs, Rows


@FITNESSES.register("paper")
class PaperFitness(Fitness):
    """A larger D by more than delta, or an equal one (within delta) with unobserved outputs.

    Outputs count as observed where the very same bytes have been: nearly never. The paper asks
    for a nearest neighbour, see :mod:`asterism.dflare.fitness.nearest`.
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
class TowardsConsequence(PaperFitness):
    """The paper's rule on how near a mutant is to a consequential deviation, in the place of D.

    See :class:`asterism.dflare.consequence.Consequence`.
    """

    aims_at_consequence: ClassVar[bool] = True


#: Squared distance from which the released code takes outputs for unobserved.
_RELEASED_NOVELTY = 0.5


@FITNESSES.register("released")
class ReleasedFitness(Fitness):
    """What the released code does in place of the paper's rule.

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
