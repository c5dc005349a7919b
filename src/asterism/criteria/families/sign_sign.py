"""Sign-sign coverage: MC/DC carried over to networks (Sun et al., TECS 2019)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.construction import NoOptions
from asterism.criteria.families import ACTIVATION_CRITERIA, Activations, ChosenCriterion
from asterism.criteria.row_file import Keys, KeyTable, zobrist_keys

Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]


@ACTIVATION_CRITERIA.register("sign_sign")
class SignSignCoverage(ChosenCriterion):
    """SSC: share of the pairs (neuron, neuron of the next layer) that two inputs show to matter.

    Two inputs show it for ``(i, j)`` when ``i`` is the only neuron of its layer whose sign differs
    between them, and the sign of ``j`` differs too. A neuron behind a ReLU is positive or not.
    """

    def __init__(self, options: NoOptions) -> None:
        super().__init__(options)
        self.covered: dict[tuple[str, str], _Pair] = {}

    def fit(self, training: Activations) -> None:
        """Learn nothing."""

    def update(self, batch: Activations) -> None:
        """Hold a batch against all that was seen, and remember it."""
        signs = {name: values > 0 for name, values in batch.layers.items()}
        for a, b in itertools.pairwise(signs):
            sizes = signs[a].shape[1], signs[b].shape[1]
            self.covered.setdefault((a, b), _Pair(*sizes)).update(signs[a], signs[b])

    def value(self) -> float:
        """Share of the pairs, in [0, 1]."""
        total = sum(pair.shown.size for pair in self.covered.values())
        shown = sum(int(pair.shown.sum()) for pair in self.covered.values())
        return shown / total if total else 0.0


class _Pair:
    """What was seen at two layers in a row.

    Attributes:
        shown: ``(first, second)``, which pairs of neurons were shown to matter.
    """

    def __init__(self, first: int, second: int) -> None:
        self.shown = np.zeros((first, second), np.bool_)
        #: Under a sign pattern of the first layer: which neurons of the second were above zero
        #: with it, and which were not, a bit each.
        self._seen = KeyTable(2 * _bytes(second))
        self._flips = zobrist_keys("sign_sign", first)

    def update(self, signs: Bools, outcomes: Bools) -> None:
        """Count a batch in, signs ``(N, first)`` and outcomes ``(N, second)``."""
        names = np.bitwise_xor.reduce(np.where(signs, self._flips, np.uint64(0)), axis=1)
        order = np.argsort(names, kind="stable")
        keys, rows = _united(names[order], _both(outcomes)[order])
        self._remember(keys, rows)
        # A pattern's neighbours differ in one sign, so their names differ by that sign's key.
        neighbours = (self._flips[:, None] ^ keys).ravel()
        for asked, there in self._seen.find(neighbours):
            neurons, here = np.divmod(asked, len(keys))
            changed, differences = _united(neurons, _differences(rows[here], there))
            bits = np.unpackbits(differences, axis=1, count=self.shown.shape[1])
            self.shown[changed] |= bits.astype(np.bool_)

    def _remember(self, keys: Keys, rows: Bytes) -> None:
        """Enter what is not known yet."""
        known = np.zeros_like(rows)
        for asked, found in self._seen.find(keys):
            which, together = _united(asked, found)
            known[which] |= together
        new = (rows & ~known).any(axis=1)
        self._seen.add(keys[new], rows[new])


def _united(groups: NDArray[Any], rows: Bytes) -> tuple[NDArray[Any], Bytes]:
    """The different values among sorted ``groups``, and the or of each one's rows."""
    if not len(groups):
        return groups, rows
    different, starts = np.unique(groups, return_index=True)
    return different, np.bitwise_or.reduceat(rows, starts, axis=0)


def _differences(here: Bytes, there: Bytes) -> Bytes:
    """Neurons that are on here and off there, or the other way round, a bit each."""
    half = here.shape[1] // 2
    changed: Bytes = (here[:, :half] & there[:, half:]) | (here[:, half:] & there[:, :half])
    return changed


def _both(outcomes: Bools) -> Bytes:
    """Which neurons are on, then which are off, packed into bits."""
    return np.concatenate([np.packbits(outcomes, axis=1), np.packbits(~outcomes, axis=1)], axis=1)


def _bytes(bits: int) -> int:
    return -(-bits // 8)
