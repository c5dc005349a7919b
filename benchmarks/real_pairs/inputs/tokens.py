"""Sentences as the tokens of a BERT, by its own list of word pieces."""

from __future__ import annotations

import re

import numpy as np

from asterism.core.messages.errors import reading
from asterism.data.given import ArrayInputs
from real_pairs.entry import PackagedFile
from real_pairs.inputs import INPUT_MAKERS, Find
from real_pairs.inputs.words import sentences


@INPUT_MAKERS.register("sentence_tokens")
def sentence_tokens(
    count: int, rng: np.random.Generator, find: Find, *, vocabulary: PackagedFile, length: int
) -> ArrayInputs:
    """Sentences of Python's documentation, without capitals, cut into word pieces.

    A word is cut into the longest pieces that are known, from its beginning on (WordPiece, Wu et
    al., arXiv:1609.08144, as BERT uses it).

    Inputs are int64 ``(N, length)``, padded with 0.

    Args:
        vocabulary: a text file with one piece a line.
        length: tokens of an item, the two at its ends counted.
    """
    path = find(vocabulary)
    with reading(str(path)):
        pieces = path.read_text(encoding="utf-8").split("\n")
    known = {piece: number for number, piece in enumerate(pieces)}
    items = np.zeros((count, length), np.int64)
    chosen = rng.choice(len(sentences()), count, replace=False)
    for row, number in zip(items, chosen, strict=True):
        words = re.findall(r"[a-z0-9]+|[^\sa-z0-9]", sentences()[number].lower())
        tokens = [token for word in words for token in tokens_of(word, known)]
        whole = [known["[CLS]"], *tokens[: length - 2], known["[SEP]"]]
        row[: len(whole)] = whole
    return ArrayInputs(items)


def tokens_of(word: str, known: dict[str, int]) -> list[int]:
    """The tokens of a word's pieces; that of unknown words where it has none.

    Args:
        word: without capitals and white space.
        known: tokens by piece; pieces that do not begin a word begin with ``##``.
    """
    found, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = word[start:end] if not start else f"##{word[start:end]}"
            if piece in known:
                found.append(known[piece])
                start = end
                break
        else:
            return [known["[UNK]"]]
    return found
