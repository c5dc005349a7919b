"""Experiments as DVC keeps them in git; sending results to others, and fetching theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asterism.dvc_hydra.private_notes import private_notes


def experiment_reference(baseline: str, name: str) -> str:
    """The git reference of an experiment.

    Args:
        baseline: the commit that it started from, in full.
        name: its name.
    """
    from dvc.repo.experiments.refs import ExpRefInfo

    return str(ExpRefInfo(baseline, name))


def push_by_dvc(origin: str | None) -> int:
    """DVC's own commands, in this process; their exit status.

    Args:
        origin: a git remote that experiments go to, and their results with them; None for none.
    """
    status = _dvc("push", "--run-cache")
    if status == 0 and origin is not None:
        status = _dvc("exp", "push", "--all-commits", "--", origin)
    return status


def fetch_by_dvc(origin: str | None) -> int:
    """DVC's own command, in this process, whose checks hold; its exit status.

    Args:
        origin: a git remote, to fetch its experiments with their results; None to fetch the
            results that ``dvc.lock`` names. They come into the cache, and not into the workspace.
    """
    if origin is None:
        return _dvc("fetch", "--run-cache")
    return _dvc("exp", "pull", "--run-cache", "--all-commits", "--", origin)


def check_out_by_dvc(stages: Sequence[str] | None) -> int:
    """DVC's own command, in this process: results come from the cache; its exit status.

    Args:
        stages: whose results; None for those of all. DVC fails where one has none.
    """
    if stages is not None and not stages:
        return 0
    return _dvc("checkout", "--", *(stages or ()))


def _dvc(*words: str) -> int:
    from dvc.cli import main

    with private_notes(Path.cwd()):
        return int(main(list(words)))
