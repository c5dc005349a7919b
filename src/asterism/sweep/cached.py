"""Bringing the cached part of a run into a workspace that holds no results yet, at once.

DVC does this stage by stage: each time it hashes the same code again and writes ``dvc.lock`` anew,
which takes longer than many a stage. Here every path is hashed once, hashes of outputs are taken
from the run-cache instead of the files, and ``dvc.lock`` is written once.
"""

from __future__ import annotations

from collections.abc import Sequence

from asterism.dvc_hydra.hashes import Hashes
from asterism.dvc_hydra.repository import Repository
from asterism.dvc_hydra.stage import Stage
from asterism.sweep.plan import PlannedStage


def take_from_cache(
    repository: Repository, plan: Sequence[PlannedStage], hashes: Hashes
) -> list[PlannedStage]:
    """Check out the outputs of all stages that the run-cache has, and write ``dvc.lock``.

    Args:
        repository: a workspace that holds no results yet.
        plan: the stages of a run.
        hashes: what is known of their dependencies.

    Returns:
        The stages that are not in the cache, or that read such a stage's outputs. Data under
        ``dvc add``, which are stages without a command to DVC, are there already.
    """
    stages = repository.stages()
    missing: dict[str, PlannedStage] = {}
    restored: list[Stage] = []
    with repository.lock():
        for planned in plan:
            stage = stages[planned.name]
            if not stage.command:
                continue
            if missing.keys().isdisjoint(planned.upstream) and stage.restore(hashes):
                restored.append(stage)
            else:
                missing[planned.name] = planned
        if restored:
            repository.enter(restored)
    return list(missing.values())
