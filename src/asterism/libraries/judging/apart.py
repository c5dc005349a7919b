"""Differences that are no wrong results, and are shown apart with what says so."""

from __future__ import annotations

from collections.abc import Mapping

from asterism.libraries.adapters.backends import REFERENCES, converter_of, library_of
from asterism.libraries.judging.compare import Difference
from asterism.libraries.judging.finding import SPECIAL_VALUES, STATED_LIMIT, Finding
from asterism.libraries.running.tasks import Result

Found = Mapping[str, Difference | None]


def set_apart(
    result: Result, distribution: str, found: Found, strictly: Found
) -> tuple[list[Finding], dict[str, Difference | None]]:
    """What is no wrong result, and the differences that are left.

    Args:
        result: what all backends did.
        distribution: the inputs.
        found: differences in what is decided, by backend.
        strictly: differences in everything.
    """
    apart, left = [], {}
    for backend, difference in found.items():
        told = difference or strictly.get(backend)
        limit = "" if difference is None else _limit(result, backend)
        if difference is None or not limit:
            left[backend] = difference
        if told is None or backend in REFERENCES or (difference is not None and not limit):
            continue
        apart.append(
            Finding(
                result.index,
                STATED_LIMIT if limit else SPECIAL_VALUES,
                "run",
                library_of(backend),
                (backend,),
                (distribution,),
                message=limit,
                excess=told.excess,
            )
        )
    return apart, left


def _limit(result: Result, backend: str) -> str:
    """What a backend, or the converter of its file, warns of; empty where it warns of nothing."""
    steps = (backend, converter_of(backend))
    warnings = (result.outcomes[s].warned for s in steps if s in result.outcomes)
    return next(filter(None, warnings), "")
