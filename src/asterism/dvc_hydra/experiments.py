"""Experiments as DVC keeps them in git: commits, under references of its own."""

from __future__ import annotations

import re

#: Experiments among the references of git; DVC keeps others of its own beside them.
_REFERENCE = re.compile(r"refs/exps/([0-9a-f]{2})/([0-9a-f]{38})/(.+)")


def experiment_reference(baseline: str, name: str) -> str:
    """The git reference of an experiment.

    Args:
        baseline: the commit that it started from, in full.
        name: its name.
    """
    return f"refs/exps/{baseline[:2]}/{baseline[2:]}/{name}"


def experiment_of(reference: str) -> tuple[str, str] | None:
    """The commit that an experiment started from, and its name; None for another reference."""
    found = _REFERENCE.fullmatch(reference)
    return None if found is None else (found[1] + found[2], found[3])
