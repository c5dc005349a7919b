"""The interface of a selection strategy."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.construction import configure
from asterism.core.parameters.registry import Registry
from asterism.deepstellar.selections.params import SelectionParams


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


def configured(params: SelectionParams) -> Selection:
    """The strategy that the parameters describe.

    Raises:
        UserError: an unknown strategy, or an impossible option of it.
    """
    return configure(SELECTIONS, params.name, params.options)
