"""A cache of both models' predictions, so that few inputs are run twice.

A blur draws nothing but its size, and size 1 changes nothing: a search that stays at one image
comes back to the same mutants again and again. Their answers are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.random_streams import mix_bits
from asterism.dflare.pair import ModelPair, Outputs, PairedOutputs, PairQuery

#: What the answers that are kept, the latest, may take in memory, and an entry beside its numbers.
_KEPT_BYTES, _ENTRY_BYTES = 1 << 25, 500


class PredictionCache:
    """A pair of models, with their answers to the latest inputs.

    What it answers is what the models would, since an input's row is the same in every batch.
    An input on which a model failed is not remembered.

    Args:
        pair: the models.
    """

    def __init__(self, pair: ModelPair) -> None:
        self._pair = pair
        self._shelf: Outputs = np.empty((0, 2, 0), np.float32)  # both outputs of each
        self._places: dict[bytes, int] = {}  # where on the shelf, the longest known first
        self._filed = 0

    def submit(self, items: NDArray[Any], comes_again: NDArray[np.bool_]) -> CachedPredictions:
        """Ask about the items that are new, without waiting for the answers.

        Args:
            items: ``(N, ...)``.
            comes_again: which of them may be known, or are worth remembering, bool ``(N,)``; the
                others are asked about in any case.
        """
        rows = np.flatnonzero(comes_again)
        keys = item_keys(items if len(rows) == len(items) else items[rows])
        places = np.full(len(items), -1)
        asked = np.ones(len(items), np.bool_)
        new: dict[bytes, int] = {}
        copies: list[tuple[int, int]] = []
        for row, key in zip(rows.tolist(), keys, strict=True):
            place = self._places.get(key)
            if place is not None:
                places[row], asked[row] = place, False
            elif new.setdefault(key, row) != row:
                copies.append((row, new[key]))
                asked[row] = False
        question = self._pair.submit(items if asked.all() else items[asked])
        numbers = np.cumsum(asked) - 1
        for row, first in copies:
            numbers[row] = numbers[first]
        known = places >= 0
        shelved = self._shelf[places[known]]
        fresh = {key: int(numbers[row]) for key, row in new.items()}
        return CachedPredictions(self, question, fresh, ~known, numbers[~known], shelved)

    def remember(self, new: Mapping[bytes, int], answers: PairedOutputs) -> None:
        """Keep answers for inputs; failures are not kept.

        Args:
            new: the answer's row by the input's key.
            answers: what the models say.
        """
        if not new:
            return
        if not len(self._shelf):
            classes = answers.f.shape[1]
            room = _KEPT_BYTES // (_ENTRY_BYTES + 2 * answers.f.itemsize * classes)
            self._shelf = np.empty((max(1, room), 2, classes), np.float32)
        found = [
            (key, row)
            for key, row in new.items()
            if row not in answers.failures and key not in self._places
        ][-len(self._shelf) :]
        fresh = [row for _, row in found]
        places = np.arange(self._filed, self._filed + len(fresh)) % len(self._shelf)
        self._filed += len(fresh)
        self._shelf[places, 0], self._shelf[places, 1] = answers.f[fresh], answers.g[fresh]
        overwritten = max(0, len(self._places) + len(fresh) - len(self._shelf))
        for key in list(islice(self._places, overwritten)):
            del self._places[key]
        self._places |= zip([key for key, _ in found], places.tolist(), strict=True)


def item_keys(items: NDArray[Any]) -> list[bytes]:
    """Keys of 128 bits that differ for different items ``(N, ...)`` of one shape.

    Each word of an item is mixed with its place; the keys are a sum and a weighted sum of these.
    """
    if not items.size:
        return [b""] * len(items)
    content = np.ascontiguousarray(items).reshape(len(items), -1).view(np.uint8)
    words = -(-content.shape[1] // 8)
    if content.shape[1] % 8:
        content = np.pad(content, ((0, 0), (0, 8 * words - content.shape[1])))
    places = mix_bits(np.arange(1, words + 1, dtype=np.uint64))
    mixed = mix_bits(content.view(np.uint64) ^ places)
    sums = np.stack([mixed.sum(axis=1), (mixed * (places | np.uint64(1))).sum(axis=1)], axis=1)
    keys: list[bytes] = sums.view("V16")[:, 0].tolist()
    return keys


@dataclass(frozen=True)
class CachedPredictions:
    """Answers for items: some are known, and the models were asked about the others.

    Attributes:
        prediction_cache: takes in what is new.
        question: the models, about the new ones, each once.
        new: by key, which of the new ones are to be remembered.
        unknown: which items were asked about, bool ``(N,)``.
        numbers: which of the new ones each of these is, int64.
        known: both models' outputs for the other items, float32 ``(known, 2, K)``.
    """

    prediction_cache: PredictionCache
    question: PairQuery
    new: Mapping[bytes, int]
    unknown: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    known: Outputs

    def result(self) -> PairedOutputs:
        """Wait for both models; the answers for all items, in their order."""
        answers = self.question.result()
        self.prediction_cache.remember(self.new, answers)
        if len(self.numbers) == len(answers.f) == len(self.unknown):  # each was asked about
            return answers
        outputs = np.empty((2, len(self.unknown), answers.f.shape[1]), np.float32)
        outputs[:, self.unknown] = answers.f[self.numbers], answers.g[self.numbers]
        if len(self.known):
            outputs[:, ~self.unknown] = self.known.swapaxes(0, 1)
        asked = zip(np.flatnonzero(self.unknown).tolist(), self.numbers.tolist(), strict=True)
        failed = answers.failures
        failures = {row: failed[n] for row, n in asked if n in failed} if failed else {}
        return PairedOutputs(outputs[0], outputs[1], failures)
