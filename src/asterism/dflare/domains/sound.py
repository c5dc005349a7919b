"""Sound and the sound mutators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.core.random_streams import BatchedStreams
from asterism.dflare.domains import (
    DOMAINS,
    Items,
    Measure,
    Rows,
    changes_by_size,
    require_form,
)
from asterism.dflare.domains.floats import FloatDomain
from asterism.sound import build_sound_mutators

#: Segments of a second: what changes and is reverted as a whole.
_SEGMENTS = 100
#: The largest ratio in dB that is told, also where nothing changed, and the smallest.
_MOST_DECIBELS = 200.0


@DOMAINS.register("sound")
class SoundDomain(FloatDomain):
    """Waveforms, float32 ``(N, S)`` in [-1, 1], and the sound mutators.

    Args:
        operators: for each mutator's name the options that differ from the mutator's defaults.
        options: the sample rate.
    """

    class Options(ParameterSection):
        """What the waveforms are."""

        rate: int = Field(ge=1_000, le=384_000, description="samples per second")

    measures: ClassVar[Mapping[str, Measure]] = {
        "snr_db": Measure("dB, signal to noise", larger_is_closer=True),
        "linf": Measure("of full scale"),
    }

    def __init__(self, operators: Mapping[str, Mapping[str, Any]], options: Options) -> None:
        super().__init__(operators, options)
        self._mutators = list(build_sound_mutators(operators).values())
        # All draw real numbers, or one of thousands.
        self.few_mutants = np.zeros(len(operators), np.bool_)
        self._segment = options.rate // _SEGMENTS

    def prepare(self, items: Items) -> None:
        """See :meth:`Domain.prepare`."""
        require_form(items, "sound", "float32 (N, S)", rank=2, dtypes="f")
        if items.dtype != np.float32 or not (np.abs(items) <= 1).all():
            raise UserError(
                f"inputs of kind sound should be float32 from -1 to 1, but these are {items.dtype} "
                f"with values up to {np.abs(items).max(initial=0):g}: divide them by their range"
            )

    def mutate_by(self, operator: int, items: Items, streams: BatchedStreams) -> Items:
        """See :meth:`Domain.mutate_by`."""
        mutator = self._mutators[operator]
        return mutator.apply(items, mutator.draw(streams, items.shape, self.options.rate))

    def crossover(self, first: Items, second: Items, rng: np.random.Generator) -> Items:
        """Each hundredth of a second comes from either parent with equal chance."""
        segments = -(-first.shape[1] // self._segment)
        from_second = rng.random((len(first), segments), dtype=np.float32) < 0.5
        samples = np.repeat(from_second, self._segment, axis=1)[:, : first.shape[1]]
        return np.where(samples, second, first)

    def distance(self, items: Items, references: Items, measure: str) -> NDArray[np.float64]:
        """Signal-to-noise ratio in dB, from -200 to 200, or L∞ distance."""
        difference = items.astype(np.float64) - references
        if measure == "linf":
            return np.asarray(np.abs(difference).max(axis=1, initial=0), np.float64)
        noise = np.square(difference).sum(axis=1)
        signal = np.square(references.astype(np.float64)).sum(axis=1)
        tiny = np.finfo(np.float64).tiny
        ratio = 10 * (np.log10(np.maximum(signal, tiny)) - np.log10(np.maximum(noise, tiny)))
        return np.asarray(np.clip(ratio, -_MOST_DECIBELS, _MOST_DECIBELS), np.float64)

    def changes(self, item: Items, reference: Items) -> Rows:
        """Numbers of the hundredths of a second that changed, by the energy of the change."""
        square = np.square(item.astype(np.float64) - reference)
        return changes_by_size(np.add.reduceat(square, np.arange(0, len(item), self._segment)))

    def revert(self, item: Items, reference: Items, places: Rows) -> Items:
        """See :meth:`Domain.revert`."""
        reverted = np.isin(np.arange(len(item)) // self._segment, places)
        return np.where(reverted, reference, item)

    def reach(self, limit: float) -> NDArray[np.float64]:
        """See :meth:`FloatDomain.reach`."""
        return np.array(limit)

    def shares_within(
        self, items: Items, references: Items, measure: str, limit: float
    ) -> NDArray[np.float64]:
        """Shares of the change at which it is as far below the signal as the limit asks."""
        missing = np.maximum(0, limit - self.distance(items, references, measure))
        # A little more than is missing, so that rounding to float32 stays within.
        return np.where(missing > 0, np.power(10, -(missing + 1e-4) / 20), 1.0)
