"""Inferring the vocabulary, padding and special tokens from the user's texts and the file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.models.tensor_models.feeding import NO_PADDING

#: So many texts have to show something before it is taken for a rule.
_FEWEST = 5


def padding_of(items: NDArray[Any], usual: int) -> int | None:
    """The token that fills texts up: the one that most often ends them more than once.

    Where none does, that is the usual one, unless it stands between other tokens: then it is a
    token as any other, and no text is filled up.
    """
    ends = items[items[:, -1] == items[:, -2], -1] if items.shape[1] > 1 else items[:0, 0]
    if len(ends) >= max(1, len(items) // 10):
        values, counts = np.unique(ends, return_counts=True)
        return int(values[counts.argmax()])
    others = items != usual
    before, behind = (np.logical_or.accumulate(rows, axis=1) for rows in (others, others[:, ::-1]))
    return None if (before & behind[:, ::-1] & ~others).any() else usual


def told_padding(items: NDArray[Any]) -> tuple[int, str]:
    """What models get for padding, and what is said of it."""
    pad = padding_of(items, 0)
    if pad is None:
        return NO_PADDING, "no text is padded: the token 0 occurs between others"
    return pad, f"texts are padded with the token {pad}"


def special_tokens(items: NDArray[Any], padding: int) -> list[int]:
    """Tokens that begin or end every text, such as those of a sentence's ends."""
    if len(items) < _FEWEST:
        return []
    there = items != padding
    lengths = np.maximum(there.shape[1] - there[:, ::-1].argmax(axis=1), 1)
    ends = items[:, 0], items[np.arange(len(items)), lengths - 1]
    same = {int(tokens[0]) for tokens in ends if (tokens == tokens[0]).all()}
    return sorted(same - {padding})
