"""The stages that a run consists of, each with a key of all that its result depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from asterism.dvc_hydra.guard import require_results
from asterism.dvc_hydra.hashes import Hashes
from asterism.dvc_hydra.repository import Repository, UnknownStageError
from asterism.dvc_hydra.stage import Stage
from asterism.sweep.targets import unknown_stage


@dataclass(frozen=True)
class PlannedStage:
    """A stage of a run.

    Attributes:
        name: as ``dvc repro`` takes it, ``fuzz@state``.
        upstream: names of those whose outputs it reads.
        key: hash of all that its result depends on, known before anything has run.
        command: its command; empty for data under ``dvc add``.
        is_long: whether it cuts its work into parts, which shards can help with.
    """

    name: str
    upstream: tuple[str, ...]
    key: str
    command: str
    is_long: bool


def read_plan(repository: Repository, targets: Sequence[str], hashes: Hashes) -> list[PlannedStage]:
    """The stages that a run of ``targets`` consists of, in the order of ``dvc repro``.

    Args:
        repository: the workspace's.
        targets: names of stages; none for all.
        hashes: takes in what is computed of the dependencies.

    Raises:
        UserError: there is no such stage, DVC cannot read the pipeline, a stage writes
            where no results belong, or a file is missing.
    """
    try:
        order = repository.in_order(targets)
    except UnknownStageError as error:
        raise unknown_stage(error.name, list(repository.stages())) from None
    computed = [stage for stage, _ in order if stage.command]  # data under `dvc add` are just files
    require_results(repository.root, computed)
    made = _Made([path for stage in computed for path in stage.outputs])
    planned: dict[str, PlannedStage] = {}
    for stage, upstream in order:
        key = _key(stage, made, sorted(planned[name].key for name in upstream), hashes)
        planned[stage.name] = PlannedStage(
            stage.name, tuple(upstream), key, stage.command, stage.is_long
        )
    return list(planned.values())


class _Made:
    """Tells whether a path is an output of the run, lies in one, or holds one."""

    def __init__(self, outputs: Sequence[Path]) -> None:
        self._outputs = set(outputs)
        self._above = {parent for path in outputs for parent in path.parents}

    def __contains__(self, path: object) -> bool:
        assert isinstance(path, Path)
        inside = self._outputs.intersection((path, *path.parents))
        return bool(inside) or path in self._above


def _key(stage: Stage, made: _Made, upstream: list[str], hashes: Hashes) -> str:
    facts = {
        "command": stage.command or None,
        "outputs": stage.output_names,
        "dependencies": stage.hashes_of_inputs(hashes, made),
        "upstream": upstream,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()
