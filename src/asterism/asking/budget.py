"""Converting a budget of time and memory into counts, from where an earlier run left off."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from asterism.asking.request import VetRequest
from asterism.core.messages.errors import UserError
from asterism.core.messages.escaping import pluralise
from asterism.vetting.certificate import read_certificate
from asterism.vetting.params import COUNTS, VetParams

#: Minutes that a question may take where nothing else is said.
MINUTES = 5.0
#: Seconds that processes take to start, the page to be drawn, and so on.
_AROUND = 30.0
#: How much faster stages are side by side, which those of large inputs are not.
_SIDE_BY_SIDE = 1.5
#: The share of the time that the given inputs themselves may take, and the fewest of them.
_ON_INPUTS, _FEWEST_INPUTS = 0.3, 200
#: A search runs once for the pair, and twice to judge a repair; most seeds need fewer queries.
_SEARCHES, _QUERIES_USED = 3, 0.6
#: What a run costs that keeps all tensors, beside one that does not.
_ALL_TENSORS = 3
#: The least of each count, so that something can be said.
_LEAST = {
    "changes.inputs": 30,
    "search.seeds": 8,
    "search.queries": 40,
    "repair.evaluations": 30,
    "repair.inputs": 8,
}
#: Bytes that one thing may take in memory: the given inputs with both models' answers, what a
#: search has found, answers to inputs that candidates of a repair are judged by.
_ROOM = 1_000_000_000
#: Copies of both models' answers that a search holds for a seed, and candidates for an input.
_COPIES = {"limit": 1, "search.seeds": 3, "repair.inputs": 3}
#: Bytes of an input and of answers from which on they are large.
_LARGE = 4_000_000
#: The least of each count that memory leaves.
_LEAST_IN_MEMORY = 4


@dataclass(frozen=True)
class InputCost:
    """What an input costs.

    Attributes:
        seconds: the seconds that both models take for it.
        changing: seconds that a change of it takes; one change of many inputs takes less for each.
        size: its bytes.
        answer: numbers of a model's answer to it.
    """

    seconds: float
    size: int
    answer: int
    changing: float = 0.0

    @property
    def large(self) -> bool:
        """Whether a few copies of an input, as numbers of a model, take much memory."""
        return 4 * max(self.size, 2 * self.answer) > _LARGE

    def kept(self, name: str) -> int:
        """The most inputs of which memory can hold what is kept."""
        of_one = self.size + 2 * 4 * self.answer * _COPIES[name]
        return max(_LEAST_IN_MEMORY, _ROOM // of_one)


def fit_counts_to_budget(
    minutes: float,
    params: VetParams,
    inputs: int,
    cost: InputCost,
    free: Callable[[str], bool],
    resumes: bool,
) -> tuple[dict[str, Any], str]:
    """The counts that fit into a given time and into memory.

    Args:
        minutes: the budget.
        params: the counts that are wanted.
        inputs: how many were given.
        cost: the cost of an input.
        free: whether the command line leaves a parameter free.
        resumes: whether the same command goes on from what this one has done.

    Returns:
        Parameters that are smaller than wanted, and a line that says what is left out and how long
        all of it would take; empty where nothing is.
    """
    faster = 1.0 if cost.large else _SIDE_BY_SIDE
    budget = faster * (60 * minutes - _AROUND)
    seconds = _rounded(cost.seconds)
    given = min(inputs, params.limit or inputs)
    wanted = {name: count or given for name, count in params.counts().items()}
    wanted["limit"] = given
    held = {n: min(c, cost.kept(n)) if n in _COPIES else c for n, c in wanted.items()}
    most = max(_FEWEST_INPUTS, int(_ON_INPUTS * budget / seconds))
    taken = min(most, held["limit"]) if free("vet.limit") else given
    # In a batch of small inputs a change takes next to nothing.
    changed = seconds + (_rounded(cost.changing) if cost.large else 0.0)
    needed = changed * _mutants(params, held) + seconds * _candidates(held)
    factor = min(1.0, max(0.0, budget - taken * seconds) / needed)
    # Seeds and queries, candidates and inputs are multiplied with each other.
    counts = {"limit": taken}
    for name in wanted.keys() - counts:
        part = factor if name == "changes.inputs" else math.sqrt(factor)
        counts[name] = min(max(_LEAST[name], int(held[name] * part)), held[name])
    left_out = {n: counts[n] for n in wanted if counts[n] < wanted[n] and free(f"vet.{n}")}
    if not left_out:
        return {}, ""
    smaller = {name.replace(".", "__"): count for name, count in left_out.items()}
    parts = ", ".join(f"{n} {count} instead of {wanted[n]}" for n, count in left_out.items())
    whole = (_AROUND + (held["limit"] * seconds + needed) / faster) / 60
    told = f"{minutes:g} {'minute leaves' if minutes == 1 else 'minutes leave'} out: {parts}"
    if whole > minutes and resumes:
        more = math.ceil(whole - minutes)
        told += (
            ". The same command resumes from there; all of it takes about "
            f"{pluralise(more, 'minute')} more: --minutes {more}"
        )
    elif whole > minutes:
        told += f". All of it takes about {whole:.0f} minutes: --minutes {math.ceil(whole)}"
    if capped := [name for name in left_out if held[name] < wanted[name]]:
        told += f". More of {', '.join(capped)} would not fit into memory"
    return smaller, told


def _rounded(seconds: float) -> float:
    """To half a power of two, so that the same question mostly has the same counts."""
    return float(2.0 ** (round(2 * math.log2(seconds)) / 2))


def _mutants(params: VetParams, counts: dict[str, int]) -> float:
    """Changed inputs that both models are asked about for these counts."""
    strengths = list(params.changes.strengths.values())
    changes = sum(map(len, strengths)) * 2  # once more to judge a repair
    changes += len(params.changes.bounds) * len(strengths[-1]) if strengths else 0
    searched = counts["search.seeds"] * counts["search.queries"] * len(params.search.searches)
    return counts["changes.inputs"] * changes + searched * _SEARCHES * _QUERIES_USED


def _candidates(counts: dict[str, int]) -> float:
    """Inputs that candidates of a repair are run on for these counts."""
    return counts["repair.evaluations"] * counts["repair.inputs"] * _ALL_TENSORS


def read_earlier_parameters(request: VetRequest, params: VetParams) -> VetParams | None:
    """The parameters of an earlier run of the same question; its counts may differ.

    Args:
        request: names the earlier run's certificate.
        params: what is asked now, with all counts that are wanted.

    Returns:
        None where the certificate is missing, of another version, or about something else.
    """
    if request.earlier is None or not request.earlier.is_file():
        return None
    try:
        certificate, earlier, _ = read_certificate(request.earlier)
    except UserError:
        return None
    if _question(earlier) != _question(params):
        return None
    if earlier.budget is None and earlier.counts() != params.counts():
        return None
    same = request.given.hashes(params.label_file) == certificate.sha256
    return earlier if same else None


def _question(params: VetParams) -> dict[str, Any]:
    """What is asked about a pair, but for its files' places, counts, and how it was settled."""
    asked = params.model_dump(
        mode="json",
        exclude={"original", "compressed", "inputs", "labels", "asked", "settled", "tried"},
    )
    for name in (*COUNTS, "budget"):
        *above, last = name.split(".")
        del (asked[above[0]] if above else asked)[last]
    return asked
