"""Drepair's protocol: how much a repairer repairs, and what it breaks (section 5.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from asterism.core.randomness.random_streams import spawn_integer
from asterism.dflare.repairers import Labels, Probabilities, Repairer


@dataclass(frozen=True)
class RepairCounts:
    """What a repairer did to inputs that it had not learnt from.

    Attributes:
        inputs: how many there were.
        deviating: those on which the compressed model deviated from the original.
        repaired: deviating before, agreeing after: the repair count.
        induced: agreeing before, deviating after: the inducing count.
    """

    inputs: int
    deviating: int
    repaired: int
    induced: int

    @property
    def improvement(self) -> int:
        """Repair count less inducing count."""
        return self.repaired - self.induced

    @property
    def repair_ratio(self) -> float:
        """Share of the deviating inputs that are repaired; 0 where there are none."""
        return self.repaired / max(1, self.deviating)

    @property
    def inducing_ratio(self) -> float:
        """Share of the agreeing inputs, which are seeds, that are broken; 0 without any."""
        return self.induced / max(1, self.inputs - self.deviating)


def count_repairs(original: Labels, compressed: Labels, repaired: Labels) -> RepairCounts:
    """Counts over inputs, from the labels that the three models give them, int64 ``(N,)``."""
    deviated = compressed != original
    deviates = repaired != original
    return RepairCounts(
        inputs=len(original),
        deviating=int(deviated.sum()),
        repaired=int((deviated & ~deviates).sum()),
        induced=int((~deviated & deviates).sum()),
    )


def cross_validate(
    make: Callable[[int], Repairer],
    probabilities: Probabilities,
    original: Labels,
    groups: NDArray[np.int64],
    folds: int,
    repeats: int,
    seed: int,
) -> list[Labels]:
    """Repaired labels of held-out inputs: every input is held out once in each repetition.

    Args:
        make: an untrained repairer from its random seed.
        probabilities: outputs of the compressed model, float32 ``(N, K)``.
        original: labels of the original, int64 ``(N,)``.
        groups: inputs of a group, such as a seed and what was found from it, are held out
            together, int64 ``(N,)``.
        folds: parts; no more than there are groups.
        repeats: repetitions, each of which divides the inputs anew.
        seed: the run's seed.

    Returns:
        The labels of each repetition, int64 ``(N,)``.
    """
    results = []
    for repeat in range(repeats):
        own_seed = spawn_integer(seed, "repair", "cross-validation", repeat)
        repaired = np.empty(len(original), np.int64)
        parts = GroupKFold(folds, shuffle=True, random_state=own_seed)
        for learn, held_out in parts.split(original, groups=groups):
            repaired[held_out] = _repaired(
                make(own_seed), probabilities[learn], original[learn], probabilities[held_out]
            )
        results.append(repaired)
    return results


def _repaired(
    repairer: Repairer, learnt: Probabilities, labels: Labels, unseen: Probabilities
) -> NDArray[np.int64]:
    if len(np.unique(labels)) == 1:  # nothing to tell apart
        return np.full(len(unseen), labels[0], np.int64)
    repairer.fit(learnt, labels)
    return repairer.labels(unseen)
