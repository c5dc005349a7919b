"""What one backend does with a model, beside what is right: the base of all findings."""

from __future__ import annotations

from dataclasses import replace

from asterism.differential.adapters.backends import converter_of, library_of
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.tasks import Result
from asterism.differential.oracle.finding import (
    ERROR,
    RIGHT,
    SPECIAL_VALUES,
    STATED_LIMIT,
    UNCHECKED,
    WRONG_BUFFERS,
    Finding,
)
from asterism.differential.oracle.standard import Standard


def judge_backend(
    result: Result, distribution: str, standard: Standard | None, backend: str
) -> Finding:
    """How a backend ended, and whether its outputs are right.

    Whether a difference is the library's fault is left open: that takes another one that is right.

    Args:
        result: what all backends did with a model.
        distribution: the inputs.
        standard: what is right; None where nothing says so.
        backend: which to judge.
    """
    outputs = result.outputs.get(backend, {}).get(distribution)
    if outputs is None:
        return replace(failure(result.outcomes[backend]), distributions=(distribution,))

    def found(status: str, excess: float = 0.0, message: str = "") -> Finding:
        library, distributions = library_of(backend), (distribution,)
        facts = result.index, status, "run", library, (backend,), distributions
        return Finding(*facts, message=message, excess=excess)

    if standard is None:
        return found(UNCHECKED)
    difference = standard.off(outputs, backend)
    if difference is not None:
        limit = _limit(result, backend)
        status = STATED_LIMIT if limit else difference.kind
        return found(status, difference.excess, limit)
    beyond = standard.off(outputs, backend, strictly=True) if standard.probes is not None else None
    return found(RIGHT) if beyond is None else found(SPECIAL_VALUES, beyond.excess)


def failure(outcome: ExecutionOutcome) -> Finding:
    """The end of a step that gave no outputs, as a finding of its backend or converter."""
    status = ERROR if outcome.status == "blocked" else outcome.status  # its worker does not start
    if outcome.exception.endswith(".WrongBuffersError"):
        status = WRONG_BUFFERS
    return Finding(
        outcome.model,
        status,
        outcome.stage,
        library_of(outcome.backend),
        (outcome.backend,),
        exception=outcome.exception,
        frame=outcome.frame,
        message=outcome.message,
    )


def _limit(result: Result, backend: str) -> str:
    """What a backend, or the converter of its file, warns of; empty where it warns of nothing."""
    steps = (backend, converter_of(backend))
    warnings = (result.outcomes[s].warned for s in steps if s in result.outcomes)
    return next(filter(None, warnings), "")
