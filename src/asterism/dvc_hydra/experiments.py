"""Experiments as DVC keeps them in git: commits, under references of its own."""

from __future__ import annotations


def experiment_reference(baseline: str, name: str) -> str:
    """The git reference of an experiment.

    Args:
        baseline: the commit that it started from, in full.
        name: its name.
    """
    return f"refs/exps/{baseline[:2]}/{baseline[2:]}/{name}"
