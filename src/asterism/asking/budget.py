"""A budget of time as counts: results depend on the counts only, so that they can be repeated."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from asterism.vetting.params import VetParams

#: Minutes that a question may take where nothing else is said.
MINUTES = 5.0
#: Seconds that processes take to start, the page to be drawn, and so on.
_AROUND = 30.0
#: The share of the time that the given inputs themselves may take, and the fewest of them.
_ON_INPUTS, _FEWEST_INPUTS = 0.3, 200
#: A search runs once for the pair, and twice to judge a repair; most seeds need fewer queries.
_SEARCHES, _QUERIES_USED = 3, 0.6
#: What a run costs that keeps all tensors, beside one that does not.
_ALL_TENSORS = 3
#: The least of each count, so that something can be said.
_LEAST = {"changes.inputs": 30, "search.seeds": 8, "search.queries": 40}
_LEAST_OF_REPAIR = {"repair.evaluations": 30, "repair.inputs": 8}


def within(
    minutes: float, params: VetParams, inputs: int, seconds: float, free: Callable[[str], bool]
) -> tuple[dict[str, Any], str]:
    """Counts that take so long.

    Args:
        minutes: the budget.
        params: the counts that are wanted.
        inputs: how many were given.
        seconds: that both models take for an input.
        free: whether the command line leaves a parameter free.

    Returns:
        Parameters that are smaller than wanted, and a line that says what is left out and how long
        all of it would take; empty where nothing is.
    """
    budget = 60 * minutes - _AROUND
    smaller: dict[str, Any] = {}
    seconds = 2.0 ** round(math.log2(seconds))  # the same question mostly has the same counts
    taken = min(inputs, params.limit or inputs)
    most = max(_FEWEST_INPUTS, int(_ON_INPUTS * budget / seconds))
    if taken > most and free("vet.limit"):
        smaller["limit"] = taken = most
    wanted = _counts(params)
    rest = budget - taken * seconds
    needed = seconds * _evaluations(params, wanted)
    factor = min(1.0, max(0.0, rest) / needed)
    # Seeds and queries, candidates and inputs are multiplied with each other.
    for name, count in wanted.items():
        part = factor if name == "changes.inputs" else math.sqrt(factor)
        fewer = max((_LEAST | _LEAST_OF_REPAIR)[name], int(count * part))
        if fewer < count and free(f"vet.{name}"):
            smaller[name.replace(".", "__")] = fewer
    if not smaller:
        return {}, ""
    whole = (_AROUND + inputs * seconds + needed) / 60
    told = {name.replace("__", "."): count for name, count in smaller.items()}
    parts = ", ".join(
        f"{name} {count} instead of {wanted.get(name, inputs)}" for name, count in told.items()
    )
    return smaller, (
        f"{minutes:g} minutes leave out: {parts}. A fuller answer takes about "
        f"{whole:.0f} minutes: --minutes {math.ceil(whole)}"
    )


def _counts(params: VetParams) -> dict[str, int]:
    """The counts that cost time, by their parameters."""
    return {
        "changes.inputs": params.changes.inputs,
        "search.seeds": params.search.seeds,
        "search.queries": params.search.queries,
        "repair.evaluations": params.repair.evaluations,
        "repair.inputs": params.repair.inputs,
    }


def _evaluations(params: VetParams, counts: dict[str, int]) -> float:
    """Inputs that both models are asked about for these counts."""
    strengths = list(params.changes.strengths.values())
    changes = sum(map(len, strengths)) * 2  # once more to judge a repair
    changes += len(params.changes.bounds) * len(strengths[-1]) if strengths else 0
    searched = counts["search.seeds"] * counts["search.queries"] * len(params.search.searches)
    return (
        counts["changes.inputs"] * changes
        + searched * _SEARCHES * _QUERIES_USED
        + counts["repair.evaluations"] * counts["repair.inputs"] * _ALL_TENSORS
    )
