"""Tokens and bytes: sequences of symbols that end before the array does."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import Distinct, ParameterSection
from asterism.core.random_streams import BatchedStreams
from asterism.dflare.domains import DOMAINS, Domain, Items, Measure, Rows, require_form
from asterism.text import Alphabet, build_text_mutators
from asterism.text.edit_distance import Edit, apply_edits, edit_distances, edit_script

#: Edit scripts that are kept: minimising asks for the same again and again.
_SCRIPTS = 512


class SequenceDomain(Domain):
    """Integers ``(N, T)``, each row filled up with padding.

    Args:
        operators: for each mutator's name the options that differ from the mutator's defaults.
        options: what the symbols are.
    """

    measures: ClassVar[Mapping[str, Measure]] = {
        "edits": Measure("inserted, deleted and replaced symbols"),
        "hamming": Measure("places with another symbol"),
    }
    #: Whether the symbols are bytes.
    of_bytes: ClassVar[bool]

    def __init__(self, operators: Mapping[str, Mapping[str, Any]], options: Any) -> None:
        super().__init__(operators, options)
        self._mutators = list(build_text_mutators(operators, self.of_bytes).values())
        self.alphabet = self._alphabet(options)
        self._script = lru_cache(_SCRIPTS)(self._script_of)

    @staticmethod
    @abstractmethod
    def _alphabet(options: Any) -> Alphabet:
        """The symbols."""

    def mutate_by(self, operator: int, items: Items, streams: BatchedStreams) -> Items:
        """See :meth:`Domain.mutate_by`."""
        mutator = self._mutators[operator]
        draws = mutator.draw(streams, (len(items), items.shape[1]))
        return mutator.apply(items, draws, self.alphabet)

    def crossover(self, first: Items, second: Items, rng: np.random.Generator) -> Items:
        """Places that both parents may change come from either of them with equal chance."""
        free = self.alphabet.editable(first) & self.alphabet.editable(second)
        from_second = rng.random(first.shape, dtype=np.float32) < 0.5
        return np.where(free & from_second, second, first)

    def distance(self, items: Items, references: Items, measure: str) -> NDArray[np.float64]:
        """Edit distance (Levenshtein), or number of places with another symbol (Hamming)."""
        if measure == "edits":
            return self._edits(items, references, None).astype(np.float64)
        return np.asarray(np.count_nonzero(items != references, axis=1), np.float64)

    def within(
        self, items: Items, references: Items, measure: str, limit: float
    ) -> NDArray[np.bool_]:
        """See :meth:`Domain.within`; edits beyond the limit are not counted."""
        if measure != "edits":
            return super().within(items, references, measure, limit)
        return self._edits(items, references, max(0, int(limit))) <= limit

    def changes(self, item: Items, reference: Items) -> Rows:
        """Numbers of the steps of the edit script that leads from the reference to the item."""
        return np.arange(len(self._script(item.tobytes(), reference.tobytes(), item.dtype.str)))

    def revert(self, item: Items, reference: Items, places: Rows) -> Items:
        """The reference after all steps of the edit script but the given ones."""
        script = self._script(item.tobytes(), reference.tobytes(), item.dtype.str)
        gone = set(places.tolist())
        kept = [edit for number, edit in enumerate(script) if number not in gone]
        symbols = apply_edits(self._symbols(reference), kept)[: len(item)]
        reverted = np.full(len(item), self.alphabet.padding, item.dtype)
        reverted[: len(symbols)] = symbols
        return reverted

    def _edits(self, items: Items, references: Items, at_most: int | None) -> NDArray[np.int64]:
        lengths = self.alphabet.lengths(items), self.alphabet.lengths(references)
        return edit_distances(items, references, *lengths, at_most)

    def _symbols(self, item: Items) -> NDArray[np.int64]:
        """One item without its padding."""
        length = int(self.alphabet.lengths(item[np.newaxis])[0])
        return item[:length].astype(np.int64)

    def _script_of(self, item: bytes, reference: bytes, dtype: str) -> list[Edit]:
        pair = (np.frombuffer(data, dtype) for data in (item, reference))
        return edit_script(*map(self._symbols, pair))


@DOMAINS.register("tokens")
class TokenDomain(SequenceDomain):
    """Token ids, int32 or int64 ``(N, T)``, see :class:`SequenceDomain`."""

    class Options(ParameterSection):
        """What the tokens are."""

        vocabulary: int = Field(ge=2, le=1 << 24, description="tokens that there are, from 0 on")
        padding: int = Field(ge=0, description="the token that fills a row up after its end")
        protected: Distinct[int] = Field(
            description="tokens that stay where they are, such as the ones that "
            "begin and end a text"
        )

    of_bytes = False

    @staticmethod
    def _alphabet(options: Options) -> Alphabet:
        alphabet = Alphabet(options.vocabulary, options.padding, options.protected)
        if not len(alphabet.free):
            raise UserError("protected and padding leave no token of the vocabulary to insert")
        return alphabet

    def prepare(self, items: Items) -> None:
        """See :meth:`Domain.prepare`."""
        require_form(items, "tokens", "int32 or int64 (N, T)", rank=2, dtypes="i")
        known = (items >= 0) & (items < self.options.vocabulary)
        if not (known | (items == self.options.padding)).all():
            raise UserError(
                f"tokens lie in {items.min()} to {items.max()}, but the vocabulary has "
                f"{self.options.vocabulary}"
            )


@DOMAINS.register("bytes")
class ByteDomain(SequenceDomain):
    """Bytes, uint8 or wider integers ``(N, T)``, see :class:`SequenceDomain`.

    Where padding is a byte, such bytes at the end of a row count as padding.
    """

    class Options(ParameterSection):
        """How rows of bytes end."""

        padding: int = Field(
            ge=0, le=65_535, description="what fills a row up after its end; above 255: no byte"
        )

    of_bytes = True

    @staticmethod
    def _alphabet(options: Options) -> Alphabet:
        return Alphabet(256, options.padding)

    def prepare(self, items: Items) -> None:
        """See :meth:`Domain.prepare`."""
        require_form(items, "bytes", "integers (N, T)", rank=2, dtypes="iu")
        if self.options.padding > np.iinfo(items.dtype).max:
            raise UserError(f"padding is {self.options.padding}, which {items.dtype} cannot hold")
        if not ((items == self.options.padding) | ((items >= 0) & (items < 256))).all():
            raise UserError(
                f"bytes lie in 0 to 255, but these reach from {items.min()} to {items.max()}"
            )
