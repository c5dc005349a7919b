"""Sign-sign coverage: MC/DC carried over to networks (Sun et al., TECS 2019)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from asterism.core.streams import stream
from asterism.criteria.criterion import CRITERIA, Activations, Criterion
from asterism.criteria.params import CriteriaParams

Bools = NDArray[np.bool_]


@dataclass
class _Pair:
    """What was seen at two layers in a row: sign patterns of the first, outcomes at the second.

    Attributes:
        patterns: rows in ``on`` and ``off`` of the sign patterns seen, by the pattern's bytes.
        signs: the patterns.
        on: for each pattern, which neurons of the second layer were above zero with it.
        off: the same for at most zero.
    """

    patterns: dict[bytes, int] = field(default_factory=dict)
    signs: list[Bools] = field(default_factory=list)
    on: list[Bools] = field(default_factory=list)
    off: list[Bools] = field(default_factory=list)


@CRITERIA.register("sign_sign")
class SignSign(Criterion):
    """SSC: share of the pairs (neuron, neuron of the next layer) that two inputs show to matter.

    Two inputs show it for ``(i, j)`` when ``i`` is the only neuron of its layer whose sign differs
    between them, and the sign of ``j`` differs too. A neuron behind a ReLU is positive or not.
    """

    def __init__(self, params: CriteriaParams) -> None:
        super().__init__(params)
        self.covered: dict[tuple[str, str], _Pair] = {}
        self._sizes: dict[str, int] = {}

    def fit(self, training: Activations) -> None:
        """Learn nothing."""

    def update(self, batch: Activations) -> None:
        """Remember every new sign pattern, and what the next layer did with it."""
        signs = {name: values > 0 for name, values in batch.layers.items()}
        self._sizes = {name: values.shape[1] for name, values in signs.items()}
        for first, second in itertools.pairwise(signs):
            pair = self.covered.setdefault((first, second), _Pair())
            for pattern, outcome in zip(signs[first], signs[second], strict=True):
                key = pattern.tobytes()
                row = pair.patterns.setdefault(key, len(pair.signs))
                if row == len(pair.signs):
                    pair.signs.append(pattern)
                    pair.on.append(outcome.copy())
                    pair.off.append(~outcome)
                else:
                    pair.on[row] |= outcome
                    pair.off[row] |= ~outcome

    def value(self) -> float:
        """Share of the pairs, in [0, 1]."""
        total = sum(self._sizes[a] * self._sizes[b] for a, b in self.covered)
        shown = sum(int(_shown(pair).sum()) for pair in self.covered.values())
        return shown / total if total else 0.0


def _shown(pair: _Pair) -> Bools:
    """``(first, second)``: the pairs of neurons that were shown to matter.

    A pattern's neighbours, which differ in one sign, are found by hash: flipping one sign changes
    a Zobrist hash by that sign's own key.
    """
    signs = np.stack(pair.signs)
    on, off = np.stack(pair.on), np.stack(pair.off)
    found = np.zeros((signs.shape[1], on.shape[1]), np.bool_)
    keys = stream(0, "criteria", "sign_sign").integers(0, 2**64, signs.shape[1], np.uint64)
    hashes = np.bitwise_xor.reduce(np.where(signs, keys, np.uint64(0)), axis=1)
    order = np.argsort(hashes)
    for neuron, key in enumerate(keys):
        wanted = hashes ^ key
        at = np.minimum(np.searchsorted(hashes[order], wanted), len(order) - 1)
        match = hashes[order][at] == wanted
        here, there = np.flatnonzero(match), order[at[match]]
        if len(here):
            changed = (on[here] & off[there]) | (off[here] & on[there])
            found[neuron] = changed.any(axis=0)
    return found
