"""What libraries did with a configuration just outside of the constraints.

All are to reject it, or to agree. One that accepts in silence what most others reject is a finding
of its own kind. So is one that rejects it by an internal error or dies of it, and one whose results
differ from what the others, who accept it too, agree on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asterism.differential.adapters.backend_names import REFERENCES, library_of, select_under_test
from asterism.differential.engine.inputs import OUTSIDE
from asterism.differential.engine.invalid_configurations import InvalidConfiguration
from asterism.differential.engine.messages import is_internal
from asterism.differential.engine.tasks import ExecutionOutcome, Result
from asterism.differential.oracle.finding import (
    INTERNAL_ERROR,
    KERAS,
    OUTSIDE_DIFFERS,
    SILENT_ACCEPTANCE,
    Finding,
)
from asterism.differential.oracle.judge import Judge, failure, products_of
from asterism.differential.params import JudgeParams
from asterism.memo.graphs.graph import Graph


def make_invalid_configuration_judge(result: Result, graph: Graph, params: JudgeParams) -> Judge:
    """The judge of an invalid configuration, about which no reference says what is right.

    Args:
        result: what backends did.
        graph: the layer alone, as it is valid.
        params: tolerances.
    """
    return Judge(result, OUTSIDE, params.tolerance(graph.epsilon, graph.depth), None)


def judge_invalid_configuration(
    result: Result, invalid: InvalidConfiguration, params: JudgeParams
) -> list[Finding]:
    """What is wrong with how libraries took an invalid configuration.

    Args:
        result: what all did.
        invalid: the configuration.
        params: tolerances.
    """
    tried, judge = str(invalid), make_invalid_configuration_judge(result, invalid.graph, params)
    tested = select_under_test(result.outcomes)
    ended = {b: result.outcomes[b] for b in (*tested, *REFERENCES) if b in result.outcomes}
    internal = [b for b in tested if _is_internal(ended[b])]
    accepted = [b for b, outcome in ended.items() if outcome.ran]
    rejected = [b for b, outcome in ended.items() if outcome.status == "error"]
    found = _internal_errors(result, internal, [*rejected, *accepted], tried)
    if len(products_of(rejected)) > len(products_of(accepted)):
        silent = [b for b in accepted if b in tested]
        found += [_finding(result, SILENT_ACCEPTANCE, b, rejected, tried) for b in silent]
        return found
    groups = [[o for o in accepted if judge.are_alike(o, center)] for center in accepted]
    most = max(groups, key=lambda group: len(products_of(group)), default=[])
    if len(products_of(most)) > 1:
        odd = [b for b in accepted if b in tested and b not in most]
        found += [_finding(result, OUTSIDE_DIFFERS, b, most, tried) for b in odd]
    return found


def describe_expected_rejection(finding: Finding) -> str:
    """What a library was to do with an invalid configuration, in words."""
    others = ", ".join(finding.agreeing[:3])
    if finding.symptom == SILENT_ACCEPTANCE:
        return f"an exception, as in {others}"
    if finding.symptom == OUTSIDE_DIFFERS:
        return f"an exception, or the output of {others}"
    return "the model runs, or an exception says what is wrong"


def _internal_errors(
    result: Result, internal: Sequence[str], others: Sequence[str], tried: str
) -> list[Finding]:
    """One for each error: where several libraries fail alike in building it, it is Keras'."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for backend in internal:
        outcome = result.outcomes[backend]
        stage = "build" if outcome.stage == "convert" else outcome.stage
        own = "" if stage == "build" else library_of(backend)
        alike.setdefault((stage, outcome.exception, outcome.frame, own), []).append(backend)
    found = []
    for (stage, *_), backends in alike.items():
        finding = _finding(result, INTERNAL_ERROR, backends[0], others, tried)
        shared = stage == "build" and len(products_of(backends)) > 1
        library = KERAS if shared else finding.library
        right = tuple(b for b in others if b not in backends)
        found.append(replace(finding, library=library, backends=tuple(backends), agreeing=right))
    return found


def _is_internal(outcome: ExecutionOutcome) -> bool:
    """Whether a library failed at something that it did not check."""
    if outcome.killed:
        return True
    return outcome.status == "error" and is_internal(outcome.exception, outcome.message)


def _finding(
    result: Result, symptom: str, backend: str, others: Sequence[str], tried: str
) -> Finding:
    outcome = result.outcomes[backend]
    return replace(
        failure(outcome),
        symptom=symptom,
        distributions=(OUTSIDE,),
        agreeing=tuple(b for b in others if b != backend),
        message=f"{tried}: {outcome.message}" if outcome.message else tried,
    )
