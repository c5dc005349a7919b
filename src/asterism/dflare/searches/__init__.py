"""Searches for triggering inputs, by name."""

from typing import Any

from asterism.core.parameters.construction import options_of
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.registry import Registry
from asterism.dflare.lockstep import LockstepSearch
from asterism.dflare.params import SearchParams

SEARCHES: Registry[type[LockstepSearch[Any]]] = Registry("search", "asterism.dflare.searches")


def search_options(chosen: SearchParams) -> ParameterSection:
    """The search's options, as it declares them.

    Raises:
        UserError: no such search, or the options are none of its.
    """
    return options_of(SEARCHES, chosen.search, chosen.options)
