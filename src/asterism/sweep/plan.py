"""The stages of a run, each with a key of all that its result depends on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asterism.core.files.plain_files import require_no_link
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra import cache_files
from asterism.dvc_hydra.hashes import WorkspaceHashes
from asterism.dvc_hydra.repository import Entry, Repository
from asterism.dvc_hydra.stage import Stage, stage_names_under, unknown_stage


@dataclass(frozen=True)
class PlannedStage:
    """A stage of a run.

    Attributes:
        stage: what ``dvc.yaml`` says of it.
        upstream: names of those whose outputs it reads.
        key: hash of all that its result depends on. Unlike DVC's, see :func:`.run_cache_key`, it
            is known before anything has run: keys of stages stand for what these will write.
    """

    stage: Stage
    upstream: tuple[str, ...]
    key: str

    @property
    def name(self) -> str:
        """As ``dvc repro`` takes it, ``fuzz@state``."""
        return self.stage.name


def read_plan(repository: Repository, targets: Sequence[str]) -> list[PlannedStage]:
    """The stages that a run of ``targets`` consists of, in the order of ``dvc repro``.

    Args:
        repository: the workspace's.
        targets: names of stages; none for all.

    Raises:
        UserError: there is no such stage, DVC cannot read the pipeline, a stage writes
            where no results belong, or a file is missing.
    """
    order = repository.in_order(targets)
    computed = [stage for stage, _ in order if stage.command]  # data under `dvc add` are just files
    require_results(repository.root, computed)
    makers = {path: stage.name for stage in computed for path in stage.outputs}
    planned: dict[str, PlannedStage] = {}
    for stage, upstream in order:
        above = sorted(planned[name].key for name in upstream)
        key = _key(stage, makers, above, repository.hashes)
        planned[stage.name] = PlannedStage(stage, tuple(upstream), key)
    return list(planned.values())


def find_cached(
    repository: Repository, plan: Sequence[PlannedStage]
) -> tuple[dict[str, Entry], list[PlannedStage]]:
    """What the cache has of a run, and which stages it does not have.

    Nothing is written: :meth:`.Repository.take` checks all of it out at once.

    Args:
        repository: the workspace's.
        plan: stages, each after those that it reads. Data under ``dvc add``, which are stages
            without a command to DVC, are there already.

    Returns:
        Entries by the stages' names; and the stages that have none, or that read such a stage's
        outputs.
    """
    found: dict[str, Entry] = {}
    missing: dict[str, PlannedStage] = {}
    for planned in plan:
        if not planned.stage.command:
            continue
        has_inputs = missing.keys().isdisjoint(planned.upstream)
        if has_inputs and (entry := repository.find(planned.stage)) is not None:
            found[planned.name] = entry
        else:
            missing[planned.name] = planned
    return found, list(missing.values())


def require_results(root: Path, stages: Iterable[Stage]) -> None:
    """Reject stages with outputs outside the results' folders: outputs are deleted before a run.

    Raises:
        UserError: it names the stage and the path, or a link on the way to one.
    """
    for stage in stages:
        for output in stage.outputs:
            path = os.path.relpath(output, root)
            if not cache_files.is_result(path):
                raise UserError(
                    f"dvc.yaml: stage {stage.name} writes {path!r}, but stages write only "
                    f"below {', '.join(cache_files.RESULTS)}"
                )
            require_no_link(root, (root / path).parent)


def _key(
    stage: Stage, makers: Mapping[Path, str], upstream: list[str], hashes: WorkspaceHashes
) -> str:
    facts = {
        "command": stage.command or None,
        "outputs": sorted(stage.outs),
        "dependencies": stage.hashes_of_inputs(hashes, makers),
        "upstream": upstream,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def check_targets(root: Path, targets: Sequence[str], compositions: Sequence[str]) -> None:
    """Find the targets of runs among the stages that ``dvc.yaml`` has under their parameters.

    Args:
        root: the workspace.
        targets: ``"fuzz"`` stands for all its variants, ``"fuzz@state"`` for one.
        compositions: each run's ``params.yaml``, which says which variants there are.

    Raises:
        UserError: there is no such stage.
    """
    for parameters in compositions if targets else ():
        names = stage_names_under(root, parameters)
        groups = {name.partition("@")[0] for name in names}
        for target in targets:
            if target not in names and target not in groups:
                raise unknown_stage(target, names)
