"""Strategies of choosing parents from the corpus."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.parameters.construction import configure
from asterism.core.parameters.params import PaperSource, ParameterSection
from asterism.core.parameters.registry import Registry
from asterism.core.parameters.validation import Label, named


class SelectionParams(ParameterSection):
    """How the fuzzer chooses parents from its queue."""

    accepted_by: ClassVar[str | None] = "asterism.deepstellar.selections:build_selection"

    name: Annotated[
        str,
        named("asterism.deepstellar.selections:SELECTIONS"),
        PaperSource("DeepHunter, section 3.1"),
    ] = Field(description="a strategy of asterism.deepstellar.selections")
    options: dict[Label, float | int] = Field(description="the strategy's own settings")


class Selection(ABC):
    """Chooses the queue's entries to mutate next.

    A strategy keeps nothing to itself: all that it knows is in the arguments, so that a campaign
    can be interrupted anywhere.
    """

    @abstractmethod
    def choose(
        self, chosen: NDArray[np.int64], last: int, count: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Positions in the queue of ``count`` parents.

        Args:
            chosen: int64 ``(Q,)``, how often each entry was chosen before, oldest entry first.
            last: the entry chosen last, -1 before the first choice.
            count: how many to choose; an entry may be chosen several times.
            rng: the draw's stream.
        """


SELECTIONS: Registry[type[Selection]] = Registry("selection", "asterism.deepstellar.selections")


def build_selection(params: SelectionParams) -> Selection:
    """The strategy that the parameters describe.

    Raises:
        UserError: an unknown strategy, or an impossible option of it.
    """
    return configure(SELECTIONS, params.name, params.options)
