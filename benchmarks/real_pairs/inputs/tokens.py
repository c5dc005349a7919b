"""Sentences as the tokens of a BERT, by its own list of word pieces."""

from __future__ import annotations

import re

import numpy as np
from pydantic import Field

from asterism.core.messages.errors import reading
from asterism.core.parameters.params import ParameterSection
from real_pairs.entry import PackagedFile
from real_pairs.inputs import INPUT_MAKERS, Find, InputMaker, MadeInputs
from real_pairs.inputs.words import sentences


@INPUT_MAKERS.register("sentence_tokens")
class SentenceTokens(InputMaker):
    """Sentences of Python's documentation, without capitals, cut into word pieces.

    A word is cut into the longest pieces that are known, from its beginning on (WordPiece, Wu et
    al., arXiv:1609.08144, as BERT uses it).
    """

    class Options(ParameterSection):
        """Pieces and length."""

        vocabulary: PackagedFile = Field(description="a text file with one piece a line")
        length: int = Field(ge=3, description="tokens of an item, the two at its ends counted")

    @staticmethod
    def make(count: int, options: Options, rng: np.random.Generator, find: Find) -> MadeInputs:
        """See :meth:`.InputMaker.make`: int64 ``(N, length)``, padded with 0."""
        path = find(options.vocabulary)
        with reading(str(path)):
            pieces = path.read_text(encoding="utf-8").split("\n")
        known = {piece: number for number, piece in enumerate(pieces)}
        items = np.zeros((count, options.length), np.int64)
        chosen = rng.choice(len(sentences()), count, replace=False)
        for row, number in zip(items, chosen, strict=True):
            words = re.findall(r"[a-z0-9]+|[^\sa-z0-9]", sentences()[number].lower())
            tokens = [token for word in words for token in tokens_of(word, known)]
            whole = [known["[CLS]"], *tokens[: options.length - 2], known["[SEP]"]]
            row[: len(whole)] = whole
        return MadeInputs(items)


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
