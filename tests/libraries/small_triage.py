"""Parameters of triage without budgets: each test has those that it is about."""

from asterism.differential.triage.params import TriageParams


def triage_params(**changes):
    """No time limit, and no known issues, but for changes."""
    none = {"minutes": 0, "known_issues": "conf/no_file"}
    return TriageParams(**{"hang_seconds": 10, **none, **changes})
