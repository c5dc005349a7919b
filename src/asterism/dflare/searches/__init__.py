"""Searches for triggering inputs, by name."""

from typing import Any

from asterism.core.registry import Registry
from asterism.dflare.lockstep import LockstepSearch

SEARCHES: Registry[type[LockstepSearch[Any]]] = Registry("search", "asterism.dflare.searches")
