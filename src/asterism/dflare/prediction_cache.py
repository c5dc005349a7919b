"""A cache of both models' predictions, so that no input is run twice.

A blur draws nothing but its size, and size 1 changes nothing: a search that stays at one image
comes back to the same mutants again and again. Their answers are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.dflare.pair import Answers, Outputs, Pair, Question

#: What the answers that are kept, the latest, may take in memory, and an entry beside its numbers.
_KEPT_BYTES, _ENTRY_BYTES = 1 << 25, 500


class PredictionCache:
    """A pair of models, and what they said about the latest inputs.

    What it answers is what the models would, since an input's row is the same in every batch.
    An input on which a model failed is not remembered.

    Args:
        pair: the models.
    """

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._shelf: Outputs = np.empty((0, 2, 0), np.float32)  # both outputs of each
        self._places: dict[bytes, int] = {}  # where on the shelf, the longest known first
        self._filed = 0

    def submit(self, items: NDArray[Any]) -> CachedPredictions:
        """Ask about those of the items ``(N, ...)`` that are new, without waiting for it."""
        keys = _keys(items)
        known_places = self._places.get
        places = np.array([known_places(key, -1) for key in keys], np.int64)
        unknown = places < 0
        new: dict[bytes, int] = {}
        first: list[int] = []
        numbers = []
        for row in np.flatnonzero(unknown).tolist():
            numbers.append(new.setdefault(keys[row], len(new)))
            if len(first) < len(new):
                first.append(row)
        question = self._pair.submit(items[first])
        known = self._shelf[places[~unknown]]
        asked = np.array(numbers, np.int64)
        return CachedPredictions(self, question, tuple(new), unknown, asked, known)

    def remember(self, keys: Sequence[bytes], answers: Answers) -> None:
        """Keep the answers for the inputs with these keys, but for failures."""
        if not len(self._shelf):
            classes = answers.f.shape[1]
            room = _KEPT_BYTES // (_ENTRY_BYTES + 2 * answers.f.itemsize * classes)
            self._shelf = np.empty((max(1, room), 2, classes), np.float32)
        fresh = [
            row
            for row, key in enumerate(keys)
            if row not in answers.failures and key not in self._places
        ][-len(self._shelf) :]
        places = np.arange(self._filed, self._filed + len(fresh)) % len(self._shelf)
        self._filed += len(fresh)
        self._shelf[places, 0], self._shelf[places, 1] = answers.f[fresh], answers.g[fresh]
        overwritten = max(0, len(self._places) + len(fresh) - len(self._shelf))
        for key in list(islice(self._places, overwritten)):
            del self._places[key]
        self._places |= zip([keys[row] for row in fresh], places.tolist(), strict=True)


def _keys(items: NDArray[Any]) -> list[bytes]:
    """What tells items ``(N, ...)`` apart."""
    size = items[:1].nbytes
    content = memoryview(items.tobytes())
    starts = range(0, len(content), size) if size else ()
    return [sha256(content[start : start + size]).digest() for start in starts]


@dataclass(frozen=True)
class CachedPredictions:
    """Items of which some are known, and about the others of which the models were asked.

    Attributes:
        prediction_cache: takes in what is new.
        question: the models, about the new ones, each once.
        new: keys of the new ones.
        unknown: which items were asked about, bool ``(N,)``.
        numbers: which of the new ones each of these is, int64.
        known: both models' outputs for the other items, float32 ``(known, 2, K)``.
    """

    prediction_cache: PredictionCache
    question: Question
    new: Sequence[bytes]
    unknown: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    known: Outputs

    def result(self) -> Answers:
        """Wait for both models; the answers for all items, in their order."""
        answers = self.question.result()
        self.prediction_cache.remember(self.new, answers)
        outputs = np.empty((2, len(self.unknown), answers.f.shape[1]), np.float32)
        outputs[:, self.unknown] = answers.f[self.numbers], answers.g[self.numbers]
        if len(self.known):
            outputs[:, ~self.unknown] = self.known.swapaxes(0, 1)
        asked = zip(np.flatnonzero(self.unknown).tolist(), self.numbers.tolist(), strict=True)
        failed = answers.failures
        failures = {row: failed[n] for row, n in asked if n in failed} if failed else {}
        return Answers(outputs[0], outputs[1], failures)
