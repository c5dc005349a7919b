"""The oracle over all models that have run: their findings, what their workers had run, and counts.

A fault may need what its worker process had run before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from asterism.differential.adapters.backend_names import library_of
from asterism.differential.engine.record import Record
from asterism.differential.engine.tasks import Result
from asterism.differential.oracle.finding import INVALID_MODEL, EarlierModel
from asterism.differential.oracle.oracle import Judgement, judge
from asterism.differential.oracle.params import JudgeParams
from asterism.memo.graphs.graph import Graph

#: Models of a worker that are remembered, the latest ones.
REMEMBERED = 32


def judge_all(graphs: Sequence[Graph], record: Record, params: JudgeParams, seed: int) -> Judgement:
    """Judge every model of a record, one at a time. Findings say what their worker ran before.

    Args:
        graphs: the models.
        record: what they did.
        params: tolerances.
        seed: for the targets of D_MAD.
    """
    found = Judgement([], [])
    histories = Histories()
    for result in record.results(len(graphs)):
        one = judge(graphs[result.index], result, params, seed)
        for kept, told in ((found.findings, one.findings), (found.apart, one.apart)):
            kept += [replace(f, before=histories.before(f.backends[0])) for f in told]
        found.agreed += one.agreed
        found.unresolved += one.unresolved
        histories.add(result)
    return found


def metrics_of(found: Judgement, models: int) -> dict[str, Any]:
    """Counts of what the oracle says about so many models, as a JSON value."""
    # A model is one, however many groups of inputs it was rejected with.
    invalid = len({f.model for f in found.findings if f.symptom == INVALID_MODEL})
    return {
        "findings": len(found.findings),
        "agreements": found.agreed,
        "unresolved": found.unresolved,
        "invalid_models": invalid,
        "invalid_rate": invalid / max(models, 1),
        "by_symptom": dict(sorted(Counter(f.symptom for f in found.findings).items())),
        "apart": dict(sorted(Counter(f.symptom for f in found.apart).items())),
    }


class Histories:
    """What every worker has run since its process began, as the results of a run follow.

    Results come in the order in which the workers got their models. A run that was interrupted,
    or whose parts several processes shared, began more processes than that: then this is more
    than the worker had.
    """

    def __init__(self) -> None:
        self._ran: dict[str, list[EarlierModel]] = {}

    def before(self, backend: str) -> tuple[EarlierModel, ...]:
        """The models before the next one, in the worker of a backend or a converter."""
        return tuple(self._ran.get(library_of(backend), ()))

    def add(self, result: Result) -> None:
        """A model has run. A worker that died of it begins anew."""
        died = set(_workers(result, killed=True))
        for worker in set(_workers(result)):
            kept = [] if worker in died else self._ran.get(worker, [])
            now = [] if worker in died else [EarlierModel(result.index, result.distributions)]
            self._ran[worker] = [*kept, *now][-REMEMBERED:]


def _workers(result: Result, *, killed: bool = False) -> Iterator[str]:
    """The workers that were asked something of a model, or those that died of it."""
    for backend, outcome in result.outcomes.items():
        if outcome.killed if killed else outcome.status != "blocked":
            yield library_of(backend)
