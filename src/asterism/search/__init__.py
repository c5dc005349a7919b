"""Search strategies that more than one method uses."""

from asterism.search.metropolis import Candidate, MetropolisHastings, Selector, Uniform

__all__ = ["Candidate", "MetropolisHastings", "Selector", "Uniform"]
