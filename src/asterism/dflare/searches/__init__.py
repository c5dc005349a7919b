"""Searches for triggering inputs, by name."""

from asterism.core.registry import Registry
from asterism.dflare.lockstep import LockstepSearch

SEARCHES: Registry[type[LockstepSearch]] = Registry("search", "asterism.dflare.searches")
