"""Localising as one call."""

from asterism.localisation.localising import BlamedNodes
from asterism.localisation.trials import TrialRunner


def localise(pair, feeds, deviation, evaluations, most=None, enough=1.0):
    """The culprits of a pair, and the set of float nodes that grows until enough is gone."""
    return BlamedNodes(TrialRunner(pair, feeds, deviation), evaluations, most).grown(enough)
