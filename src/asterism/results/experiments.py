"""The experiments that a project's git repository holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from asterism.dvc_hydra.experiments import experiment_of
from asterism.sweep.workspace import git


@dataclass(frozen=True)
class Experiment:
    """One of DVC's experiments.

    Attributes:
        name: of the experiment.
        commit: that holds it.
        baseline: the commit that it started from.
        made: when, as ``2026-01-31 12:00``.
    """

    name: str
    commit: str
    baseline: str
    made: str


def experiments(root: Path) -> list[Experiment]:
    """All experiments in a project, the oldest first."""
    form = "%(refname)%00%(objectname)%00%(committerdate:format:%Y-%m-%d %H:%M)"
    lines = git(root, "for-each-ref", "--sort=committerdate", f"--format={form}", "refs/exps")
    found = []
    for reference, commit, made in (line.split("\0") for line in lines.splitlines()):
        if (told := experiment_of(reference)) is not None:
            found.append(Experiment(told[1], commit, told[0], made))
    return found
