"""Asking a pair of models about each input once.

A blur draws nothing but its size, and size 1 changes nothing: a search that stays at one image
comes back to the same mutants again and again. Their answers are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.dflare.pair import Answers, Outputs, Pair, Question

#: What the answers that are kept, the latest, may take in memory, and an entry beside its numbers.
_KEPT_BYTES, _ENTRY_BYTES = 1 << 25, 500


class Recall:
    """A pair of models, and what they said about the latest inputs.

    What it answers is what the models would, since an input's row is the same in every batch.
    An input on which a model failed is not remembered.

    Args:
        pair: the models.
    """

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._known: dict[bytes, tuple[Outputs, Outputs]] = {}

    def submit(self, items: NDArray[Any]) -> Recollection:
        """Ask about those of the items ``(N, ...)`` that are new, without waiting for it."""
        keys = [blake2b(i.tobytes(), digest_size=16).digest() for i in items]
        known = {key: self._known[key] for key in keys if key in self._known}
        new: dict[bytes, int] = {}
        for row, key in enumerate(keys):
            if key not in known:
                new.setdefault(key, row)
        question = self._pair.submit(items[list(new.values())])
        place = {key: number for number, key in enumerate([*new, *known])}
        places = np.array([place[key] for key in keys], np.int64)
        return Recollection(self, question, tuple(new), tuple(known.values()), places)

    def remember(self, keys: Sequence[bytes], answers: Answers) -> None:
        """Keep the answers for the inputs with these keys, but for failures."""
        rows = enumerate(zip(keys, answers.f, answers.g, strict=True))
        self._known |= {key: (f, g) for row, (key, f, g) in rows if row not in answers.failures}
        most = _KEPT_BYTES // (_ENTRY_BYTES + 2 * answers.f.itemsize * answers.f.shape[1])
        for key in list(islice(self._known, max(0, len(self._known) - most))):
            del self._known[key]


@dataclass(frozen=True)
class Recollection:
    """Items of which some are known, and about the others of which the models were asked.

    Attributes:
        recall: takes in what is new.
        question: the models, about the new ones.
        new: keys of the new ones.
        known: answers for the others, each once.
        places: where each item stands among the new and the known ones, int64 ``(N,)``.
    """

    recall: Recall
    question: Question
    new: Sequence[bytes]
    known: Sequence[tuple[Outputs, Outputs]]
    places: NDArray[np.int64]

    def result(self) -> Answers:
        """Wait for both models; the answers for all items, in their order."""
        answers = self.question.result()
        self.recall.remember(self.new, answers)
        f, g = (
            np.concatenate([asked, *(rows[number][None] for rows in self.known)])[self.places]
            for number, asked in enumerate((answers.f, answers.g))
        )
        failures = {
            row: answers.failures[place]
            for row, place in enumerate(self.places.tolist())
            if place in answers.failures
        }
        return Answers(f, g, failures)
